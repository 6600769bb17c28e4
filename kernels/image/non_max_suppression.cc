// NonMaxSuppression, all versions: boxes in the order of their scores, without those that overlap one that was kept.
//
// The candidates are a heap, so that n boxes cost n for the heap and log n for each one that is looked at; a box is
// compared with those that were kept, many at a time.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/float16.h"
#include "kernels/array/index_values.h"
#include "kernels/image/box_suppressor.h"
#include "kernels/image/boxes.h"
#include "kernels/image/families.h"
#include "kernels/image/float_rows.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/temp_array.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Looks at the cancellation after so many candidates.
constexpr int64_t kPollEvery = 256;

// One call: what a version of the op reads from its inputs and attrs.
struct Suppression {
  int64_t num_boxes = 0;
  int64_t max_kept = 0;
  float overlap_threshold = 0;
  float score_threshold = std::numeric_limits<float>::lowest();
  float sigma = 0;       // Above 0: overlapping boxes lose score, by a normal distribution of this width.
  bool is_half = false;  // Numbers are rounded to half after each step.
};

struct Candidate {
  int64_t box;
  float score;
  int64_t compared;  // With so many of the kept ones.
};
bool GoesAfter(const Candidate& a, const Candidate& b) {
  return a.score == b.score ? a.box > b.box : a.score < b.score;
}

// What was kept: numbers of boxes, best first, and their scores.
struct Kept {
  TempArray<int32_t> boxes;
  TempArray<float> scores;
  int64_t size = 0;
};

float RoundedToHalf(float value) { return static_cast<float>(Half(value)); }

// The greatest float that becomes at most `threshold`, of [0, 1], when it is rounded to half: overlaps are rounded
// before they are compared, as in TensorFlow.
float BeforeRounding(float threshold) {
  Half below(threshold);
  if (static_cast<float>(below) > threshold) below = Half::FromBits(static_cast<uint16_t>(below.bits - 1));
  const float above = static_cast<float>(Half::FromBits(static_cast<uint16_t>(below.bits + 1)));
  const float middle = (static_cast<float>(below) + above) / 2;
  return RoundedToHalf(middle) > threshold ? std::nextafter(middle, 0.0f) : middle;
}

// The score that remains after an overlap.
float Weight(const Suppression& call, float overlap) {
  if (call.sigma <= 0 && !(overlap <= call.overlap_threshold)) return 0;
  if (call.sigma <= 0) return 1;
  if (!call.is_half) return std::exp(-0.5f / call.sigma * overlap * overlap);
  const float scale = RoundedToHalf(-0.5f / call.sigma);
  const float rounded = RoundedToHalf(overlap);
  return RoundedToHalf(std::exp(RoundedToHalf(RoundedToHalf(scale * rounded) * rounded)));
}

// Lowers the candidate's score by what it overlaps. `overlap(i)`: with the i-th kept box. Whether it is out for good.
template <typename OverlapWith>
bool Suppress(const Suppression& call, const OverlapWith& overlap, int64_t num_kept, Candidate* candidate) {
  for (int64_t i = num_kept; i-- > candidate->compared;) {
    const float similarity = overlap(i);
    candidate->score *= Weight(call, similarity);
    if (call.is_half) candidate->score = RoundedToHalf(candidate->score);
    if (call.sigma <= 0 && similarity > call.overlap_threshold) return true;
    if (candidate->score <= call.score_threshold) break;
  }
  return false;
}

absl::StatusOr<Kept> MakeKept(KernelContext& context, int64_t capacity) {
  Kept kept;
  SLUICE_ASSIGN_OR_RETURN(kept.boxes, TempArray<int32_t>::Make(context, capacity));
  SLUICE_ASSIGN_OR_RETURN(kept.scores, TempArray<float>::Make(context, capacity));
  return kept;
}

// `compare(candidate, kept)` lowers a candidate's score and says whether it is out; `keep(box)` is called for each box
// that is kept.
template <typename Compare, typename Keep>
absl::StatusOr<Kept> KeepBest(KernelContext& context, const Suppression& call, const float* scores,
                              const Compare& compare, const Keep& keep) {
  const int64_t capacity = std::min(call.max_kept, call.num_boxes);
  SLUICE_ASSIGN_OR_RETURN(Kept kept, MakeKept(context, capacity));
  SLUICE_ASSIGN_OR_RETURN(TempArray<Candidate> memory, TempArray<Candidate>::Make(context, call.num_boxes));
  Candidate* const heap = memory.data();
  int64_t size = 0;
  for (int64_t i = 0; i < call.num_boxes; ++i) {
    if (scores[i] > call.score_threshold) heap[size++] = {i, scores[i], 0};
  }
  std::make_heap(heap, heap + size, &GoesAfter);
  const Workers workers(context.run());
  for (int64_t step = 1; size > 0 && kept.size < capacity; ++step) {
    if (step % kPollEvery == 0 && workers.MustStop()) return workers.WhyStopped();
    std::pop_heap(heap, heap + size, &GoesAfter);
    Candidate next = heap[--size];
    const float score = next.score;
    const bool is_out = compare(&next, kept.size);
    next.compared = kept.size;
    if (is_out) continue;
    if (next.score == score) {
      kept.boxes[kept.size] = static_cast<int32_t>(next.box);
      kept.scores[kept.size++] = score;
      keep(next.box);
    } else if (next.score > call.score_threshold) {
      heap[size++] = next;
      std::push_heap(heap, heap + size, &GoesAfter);
    }
  }
  return kept;
}

// By the boxes' corners, four floats each.
absl::StatusOr<Kept> KeepBestBoxes(KernelContext& context, const Suppression& call, const float* boxes,
                                   const float* scores) {
  const int64_t capacity = std::min(call.max_kept, call.num_boxes);
  SLUICE_ASSIGN_OR_RETURN(TempArray<float> memory,
                          TempArray<float>::Make(context, capacity * KeptBoxes::kFloatsPerBox));
  KeptBoxes kept(memory.data(), capacity);
  const auto compare = [&](Candidate* candidate, int64_t num_kept) {
    const OrderedBox box = OrderedBox::Of(boxes + 4 * candidate->box);
    // A score that no overlap changes: what is asked is only whether there is one.
    const bool is_plain = call.sigma <= 0 && kept.all_finite() && std::isfinite(box.area);
    if (is_plain) return kept.AnyOverlaps(box, call.overlap_threshold, candidate->compared);
    const auto overlap = [&](int64_t i) { return Overlap(box, kept.Get(i)); };
    return Suppress(call, overlap, num_kept, candidate);
  };
  return KeepBest(context, call, scores, compare, [&](int64_t box) { kept.Add(OrderedBox::Of(boxes + 4 * box)); });
}

// By a table of overlaps.
absl::StatusOr<Kept> KeepBestByTable(KernelContext& context, const Suppression& call, const float* overlaps,
                                     const float* scores) {
  SLUICE_ASSIGN_OR_RETURN(TempArray<int64_t> kept,
                          TempArray<int64_t>::Make(context, std::min(call.max_kept, call.num_boxes)));
  int64_t count = 0;
  const auto compare = [&](Candidate* candidate, int64_t num_kept) {
    const float* const row = overlaps + candidate->box * call.num_boxes;
    return Suppress(
        call, [&](int64_t i) { return row[kept[i]]; }, num_kept, candidate);
  };
  return KeepBest(context, call, scores, compare, [&](int64_t box) { kept[count++] = box; });
}

// --- Inputs and outputs --------------------------------------------------------------------------------------------

// A scalar of floats or halves.
absl::StatusOr<float> ReadFloatScalar(const KernelContext& context, int input, absl::string_view name) {
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, input, name));
  float scratch;
  return *FloatRows(context.input(input)).Get(0, 1, &scratch);
}

absl::Status CheckThreshold(float threshold, int input) {
  if (threshold >= 0 && threshold <= 1) return absl::OkStatus();
  const ErrorBuilder error =
      Error(input >= 0 ? ErrorCode::kOpValue : ErrorCode::kOpAttr).Found(absl::StrCat(threshold)).Expected("0 to 1");
  return input >= 0 ? ErrorBuilder(error).Input(input, "iou_threshold") : ErrorBuilder(error).Attr("iou_threshold");
}

absl::Status CheckScores(const KernelContext& context, int64_t num_boxes) {
  const Tensor& scores = context.input(1);
  // Boxes are numbered by int32.
  if (scores.rank() == 1 && scores.dim(0) == num_boxes && num_boxes <= std::numeric_limits<int32_t>::max()) {
    return absl::OkStatus();
  }
  return ShapeError(1, "scores", scores.shape(), absl::StrCat("[", num_boxes, "]"));
}

// Puts the numbers of the boxes into output 0, of `size` elements, and zeros after the last one.
absl::Status SetBoxes(KernelContext& context, const Kept& kept, int64_t size) {
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, Shape::Of({size})));
  int32_t* const out = output->flat<int32_t>().data();
  std::copy_n(kept.boxes.data(), kept.size, out);
  std::fill_n(out + kept.size, size - kept.size, 0);
  return absl::OkStatus();
}

// The elements of an input as floats: where they lie, or converted into `memory`.
absl::StatusOr<const float*> Floats(KernelContext& context, int input, TempArray<float>* memory) {
  const Tensor& tensor = context.input(input);
  const FloatRows rows(tensor);
  if (!rows.is_direct()) {
    SLUICE_ASSIGN_OR_RETURN(*memory, TempArray<float>::Make(context, tensor.num_elements()));
  }
  return rows.Get(0, tensor.num_elements(), memory->data());
}

// --- Kernels -------------------------------------------------------------------------------------------------------

// Version 1, whose threshold is an attr.
class NonMaxSuppressionKernel final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const float threshold, construction.Get<float>("iou_threshold"));
    SLUICE_RETURN_IF_ERROR(CheckThreshold(threshold, -1));
    return std::make_unique<NonMaxSuppressionKernel>(threshold);
  }
  explicit NonMaxSuppressionKernel(float threshold) : threshold_(threshold) {}

  absl::Status Compute(KernelContext& context) const override {
    Suppression call;
    SLUICE_ASSIGN_OR_RETURN(call.num_boxes, CountBoxes(context, 0, "boxes"));
    SLUICE_RETURN_IF_ERROR(CheckScores(context, call.num_boxes));
    SLUICE_ASSIGN_OR_RETURN(call.max_kept, ReadCount(context, 2, "max_output_size"));
    call.overlap_threshold = threshold_;
    SLUICE_ASSIGN_OR_RETURN(const Kept kept, KeepBestBoxes(context, call, context.input(0).flat<float>().data(),
                                                           context.input(1).flat<float>().data()));
    return SetBoxes(context, kept, kept.size);
  }

 private:
  const float threshold_;
};

// Versions 2 to 5.
class NonMaxSuppressionVKernel final : public Kernel {
 public:
  NonMaxSuppressionVKernel(int version, bool is_padded) : version_(version), is_padded_(is_padded) {}

  absl::Status Compute(KernelContext& context) const override {
    Suppression call;
    SLUICE_ASSIGN_OR_RETURN(call.num_boxes, CountBoxes(context, 0, "boxes"));
    SLUICE_RETURN_IF_ERROR(CheckScores(context, call.num_boxes));
    SLUICE_ASSIGN_OR_RETURN(call.max_kept, ReadCount(context, 2, "max_output_size"));
    SLUICE_RETURN_IF_ERROR(ReadThresholds(context, &call));
    call.is_half = context.input(0).dtype() == DType::kHalf;
    if (call.is_half) call.overlap_threshold = BeforeRounding(call.overlap_threshold);
    TempArray<float> box_memory, score_memory;
    SLUICE_ASSIGN_OR_RETURN(const float* const boxes, Floats(context, 0, &box_memory));
    SLUICE_ASSIGN_OR_RETURN(const float* const scores, Floats(context, 1, &score_memory));
    SLUICE_ASSIGN_OR_RETURN(const Kept kept, KeepBestBoxes(context, call, boxes, scores));
    const int64_t size = is_padded_ ? call.max_kept : kept.size;
    SLUICE_RETURN_IF_ERROR(SetBoxes(context, kept, size));
    if (version_ == 5) SLUICE_RETURN_IF_ERROR(SetScores(context, kept, size));
    if (version_ >= 4) context.SetScalar(version_ - 3, static_cast<int32_t>(kept.size));
    return absl::OkStatus();
  }

 private:
  absl::Status ReadThresholds(const KernelContext& context, Suppression* call) const {
    SLUICE_ASSIGN_OR_RETURN(call->overlap_threshold, ReadFloatScalar(context, 3, "iou_threshold"));
    SLUICE_RETURN_IF_ERROR(CheckThreshold(call->overlap_threshold, 3));
    if (version_ == 2) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(call->score_threshold, ReadFloatScalar(context, 4, "score_threshold"));
    if (version_ < 5) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(call->sigma, ReadFloatScalar(context, 5, "soft_nms_sigma"));
    if (call->sigma >= 0) return absl::OkStatus();
    return ValueError(5, "soft_nms_sigma", call->sigma, "0 or more");
  }

  static absl::Status SetScores(KernelContext& context, const Kept& kept, int64_t size) {
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(1, Shape::Of({size})));
    std::memset(output->mutable_raw_data(), 0, output->total_bytes());
    StoreFloats(kept.scores.data(), kept.size, 0, output);
    return absl::OkStatus();
  }

  const int version_;
  const bool is_padded_;
};

template <int kVersion>
absl::StatusOr<std::unique_ptr<Kernel>> MakeVersion(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const bool is_padded, construction.GetOr<bool>("pad_to_max_output_size", false));
  return std::make_unique<NonMaxSuppressionVKernel>(kVersion, is_padded);
}

absl::Status ComputeWithOverlaps(KernelContext& context) {
  const Tensor& overlaps = context.input(0);
  if (overlaps.rank() != 2 || overlaps.dim(0) != overlaps.dim(1)) {
    return ShapeError(0, "overlaps", overlaps.shape(), "a square matrix");
  }
  Suppression call;
  call.num_boxes = overlaps.dim(0);
  SLUICE_RETURN_IF_ERROR(CheckScores(context, call.num_boxes));
  SLUICE_ASSIGN_OR_RETURN(call.max_kept, ReadCount(context, 2, "max_output_size"));
  SLUICE_ASSIGN_OR_RETURN(call.overlap_threshold, ReadFloatScalar(context, 3, "overlap_threshold"));
  SLUICE_ASSIGN_OR_RETURN(call.score_threshold, ReadFloatScalar(context, 4, "score_threshold"));
  SLUICE_ASSIGN_OR_RETURN(const Kept kept, KeepBestByTable(context, call, overlaps.flat<float>().data(),
                                                           context.input(1).flat<float>().data()));
  return SetBoxes(context, kept, kept.size);
}

constexpr DTypeSet kBoxTypes{DType::kFloat, DType::kHalf};
constexpr TypeConstraint kTwoTypes[] = {{"T", kBoxTypes}, {"T_threshold", kBoxTypes}};

constexpr KernelRow kRows[] = {
    KernelRow("NonMaxSuppression", &New<NonMaxSuppressionKernel>),
    KernelRow("NonMaxSuppressionV2", &MakeVersion<2>).AllTypes(kTwoTypes),
    KernelRow("NonMaxSuppressionV3", &MakeVersion<3>).AllTypes(kTwoTypes),
    KernelRow("NonMaxSuppressionV4", &MakeVersion<4>).AllTypes(kTwoTypes),
    KernelRow("NonMaxSuppressionV5", &MakeVersion<5>).Types("T", kBoxTypes),
    KernelRow("NonMaxSuppressionWithOverlaps", &Call<ComputeWithOverlaps>),
};

}  // namespace

absl::Span<const KernelRow> NonMaxSuppressionKernels() { return kRows; }

}  // namespace sluice
