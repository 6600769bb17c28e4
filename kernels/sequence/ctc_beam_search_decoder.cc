// CTCBeamSearchDecoder (Graves, "Supervised sequence labelling with recurrent neural networks", 2008, 7.5): the labels
// that are likeliest over all the ways to emit them, of the few that are followed at a time. Ties are broken as in
// TensorFlow, by the steps of its heap and its sort (beam.h).

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sequence/beam.h"
#include "kernels/sequence/ctc_inputs.h"
#include "kernels/sequence/decoded_labels.h"
#include "kernels/sequence/families.h"
#include "kernels/sequence/log_sum.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Nanoseconds for a label that a path may go on with.
constexpr double kChildNs = 30;

// Logarithms of the probability that a path has been emitted up to a step: in all, and by whether a blank came last.
template <typename T>
struct Odds {
  T total = kLogZero<T>;
  T blank = kLogZero<T>;
  T label = kLogZero<T>;
};

// A sequence of labels, linked from each label to the one before.
template <typename T>
struct PathNode {
  int32_t parent;
  int32_t label;
  Odds<T> before;  // Of the step before.
  Odds<T> now;
  bool IsFollowed() const { return now.total != kLogZero<T>; }
};

// The search in one sequence. Not thread-safe.
template <typename T>
class BeamSearch {
 public:
  BeamSearch(int64_t beam_width, int64_t classes)
      : labels_(static_cast<int32_t>(classes - 1)), beam_(static_cast<size_t>(beam_width)) {
    nodes_.push_back({-1, -1, {}, {T(0), T(0), kLogZero<T>}});  // No labels yet, as after a blank.
    beam_.Push(0, Better());
  }

  // The next step: scores of all labels, and of the blank behind them.
  absl::Status Step(const T* scores) {
    const std::vector<int32_t> paths = beam_.TakeAll(Better());
    const T offset = LogTotal(scores);
    for (const int32_t path : paths) nodes_[Place(path)].before = nodes_[Place(path)].now;
    for (const int32_t path : paths) {
      RepeatOrBlank(scores, offset, &nodes_[Place(path)]);
      beam_.Push(path, Better());
    }
    for (const int32_t path : paths) {
      if (!IsCandidate(nodes_[Place(path)].before)) continue;
      for (int32_t label = 0; label < labels_; ++label)
        SLUICE_RETURN_IF_ERROR(Extend(path, label, scores[label] - offset));
    }
    return absl::OkStatus();
  }

  size_t num_paths() const { return beam_.size(); }
  // The best `count` paths, best first.
  std::vector<int32_t> Best(size_t count) const {
    Beam best(count);
    for (const int32_t path : beam_.unsorted()) best.Push(path, Better());
    return best.TakeAll(Better());
  }
  T LogProbability(int32_t path) const { return nodes_[Place(path)].now.total; }
  // Writes the labels of a path, equal ones in a row as one with `merges`; how many there are. REQUIRES: room for as
  // many as there were steps.
  int64_t WriteLabels(int32_t path, bool merges, int64_t* out) const {
    int64_t count = 0;
    int32_t after = -1;
    for (int32_t at = path; at > 0; at = nodes_[Place(at)].parent) {
      const int32_t label = nodes_[Place(at)].label;
      if (!merges || label != after) out[count++] = label;
      after = label;
    }
    std::reverse(out, out + count);
    return count;
  }

 private:
  static size_t Place(int32_t path) { return static_cast<size_t>(path); }
  auto Better() const {
    return [this](int32_t a, int32_t b) { return nodes_[Place(a)].now.total > nodes_[Place(b)].now.total; };
  }

  // The logarithm of the sum of the scores' exponentials.
  T LogTotal(const T* scores) const {
    const T* const end = scores + labels_ + 1;
    const T most = *std::max_element(scores, end);
    T sum = 0;
    for (const T* at = scores; at != end; ++at) sum += std::exp(*at - most);
    return most + std::log(sum);
  }

  // Scores of a path that is extended by its last label again, or by the blank: its labels stay as they are.
  void RepeatOrBlank(const T* scores, T offset, PathNode<T>* path) const {
    if (path->parent >= 0) {
      const PathNode<T>& parent = nodes_[Place(path->parent)];
      if (parent.IsFollowed()) {
        const T before = path->label == parent.label ? parent.before.blank : parent.before.total;
        path->now.label = LogSum(path->now.label, before);
      }
      path->now.label += scores[path->label] - offset;
    }
    path->now.blank = path->before.total + scores[labels_] - offset;
    path->now.total = LogSum(path->now.blank, path->now.label);
  }

  bool IsCandidate(const Odds<T>& odds) {
    return odds.total > kLogZero<T> &&
           (!beam_.is_full() || odds.total > nodes_[Place(beam_.Worst(Better()))].now.total);
  }

  // Adds the path that extends `parent` by `label`, unless it is in the beam already or too unlikely for it.
  absl::Status Extend(int32_t parent, int32_t label, T log_y) {
    const uint64_t key = static_cast<uint64_t>(parent) << 32 | static_cast<uint32_t>(label);
    const auto found = children_.find(key);
    PathNode<T>* const known = found == children_.end() ? nullptr : &nodes_[Place(found->second)];
    if (known != nullptr && known->IsFollowed()) return absl::OkStatus();
    const PathNode<T>& from = nodes_[Place(parent)];
    Odds<T> odds;
    odds.label = log_y + (label == from.label ? from.before.blank : from.before.total);
    odds.total = odds.label;
    if (!IsCandidate(odds)) {
      if (known != nullptr) known->before = known->now = Odds<T>();
      return absl::OkStatus();
    }
    // Removes the path that this pushes out of the beam.
    if (beam_.is_full()) nodes_[Place(beam_.Worst(Better()))].now = Odds<T>();
    int32_t child;
    if (known != nullptr) {
      child = found->second;
      known->now = odds;
    } else {
      constexpr size_t kMaxNodes = size_t{1} << 30;
      if (nodes_.size() >= kMaxNodes)
        return Error(ErrorCode::kOutOfMemory).Text("follows more paths than can be counted");
      child = static_cast<int32_t>(nodes_.size());
      children_.emplace(key, child);
      nodes_.push_back({parent, label, {}, odds});
    }
    beam_.Push(child, Better());
    return absl::OkStatus();
  }

  const int32_t labels_;  // The blank comes after them.
  std::vector<PathNode<T>> nodes_;
  HashMap<uint64_t, int32_t> children_;  // By parent and label: only those that were ever followed.
  Beam beam_;
};

// Decodes all sequences into the best paths of each.
class CtcBeamSearchDecoderKernel final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t beam_width, construction.Get<int64_t>("beam_width"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t top_paths, construction.Get<int64_t>("top_paths"));
    SLUICE_ASSIGN_OR_RETURN(const bool merges, construction.Get<bool>("merge_repeated"));
    return std::make_unique<CtcBeamSearchDecoderKernel>(beam_width, top_paths, merges);
  }
  CtcBeamSearchDecoderKernel(int64_t beam_width, int64_t top_paths, bool merges)
      : beam_width_(beam_width), top_paths_(top_paths), merges_(merges) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CtcInputs inputs, ReadCtcInputs(context, 1, ErrorCode::kOpPrecondition));
    if (top_paths_ > beam_width_) {
      return AttrError("top_paths", top_paths_, absl::StrCat("at most beam_width, ", beam_width_));
    }
    SLUICE_ASSIGN_OR_RETURN(DecodedLabels decoded, DecodedLabels::Make(context, inputs, top_paths_));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const odds, context.AllocateOutput(static_cast<int>(3 * top_paths_),
                                                                       Shape::Of({inputs.batch, top_paths_})));
    SLUICE_RETURN_IF_ERROR(odds->dtype() == DType::kFloat ? DecodeAll<float>(context, inputs, &decoded, odds)
                                                          : DecodeAll<double>(context, inputs, &decoded, odds));
    return decoded.SetOutputs(context);
  }

 private:
  template <typename T>
  absl::Status DecodeAll(const KernelContext& context, const CtcInputs& inputs, DecodedLabels* decoded,
                         Tensor* odds) const {
    const T* const scores = context.input(0).flat<T>().data();
    T* const out = odds->flat<T>().data();
    const double sequence_ns = kChildNs * static_cast<double>(inputs.time) * static_cast<double>(inputs.classes) *
                               static_cast<double>(beam_width_);
    const Workers workers(context.run());
    return workers.ForEachShard(inputs.batch, sequence_ns, [&](int64_t b, int) {
      return Decode(workers, inputs, scores, b, decoded, out + b * top_paths_);
    });
  }

  template <typename T>
  absl::Status Decode(const Workers& workers, const CtcInputs& inputs, const T* scores, int64_t b,
                      DecodedLabels* decoded, T* odds) const {
    BeamSearch<T> search(beam_width_, inputs.classes);
    for (int64_t t = 0; t < inputs.lengths[static_cast<size_t>(b)]; ++t) {
      if (workers.MustStop()) return workers.WhyStopped();
      SLUICE_RETURN_IF_ERROR(search.Step(scores + inputs.row(t, b)));
    }
    if (static_cast<size_t>(top_paths_) > search.num_paths()) {
      return AttrError("top_paths", top_paths_,
                       absl::StrCat("at most ", search.num_paths(), ", the paths that sequence ", b, " has"));
    }
    const std::vector<int32_t> best = search.Best(static_cast<size_t>(top_paths_));
    for (int64_t path = 0; path < top_paths_; ++path) {
      const int32_t node = best[static_cast<size_t>(path)];
      odds[path] = search.LogProbability(node);
      decoded->count(path, b) = search.WriteLabels(node, merges_, decoded->labels(path, b));
    }
    return absl::OkStatus();
  }

  const int64_t beam_width_;
  const int64_t top_paths_;
  const bool merges_;
};

constexpr KernelRow kRows[] = {
    KernelRow("CTCBeamSearchDecoder", &New<CtcBeamSearchDecoderKernel>).Types("T", {DType::kFloat, DType::kDouble}),
};

}  // namespace

absl::Span<const KernelRow> CtcBeamSearchDecoderKernels() { return kRows; }

}  // namespace sluice
