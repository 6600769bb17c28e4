// The ops ...CandidateSampler: classes to train against besides the true ones, and how often each is expected.

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "graph/base/hash_table.h"
#include "graph/base/mutex.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/random/class_weights.h"
#include "kernels/random/families.h"
#include "kernels/random/range_sampler.h"
#include "kernels/random/seeded_generator.h"
#include "kernels/step/file_access.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// The attrs of all samplers.
struct SamplerAttrs {
  int64_t num_true = 0;
  int64_t num_sampled = 0;
  bool is_unique = false;
  SeededGenerator::Seeds seeds;
};

absl::StatusOr<SamplerAttrs> ReadAttrs(const KernelConstruction& construction) {
  SamplerAttrs attrs;
  SLUICE_ASSIGN_OR_RETURN(attrs.num_true, construction.Get<int64_t>("num_true"));
  SLUICE_ASSIGN_OR_RETURN(attrs.num_sampled, construction.Get<int64_t>("num_sampled"));
  SLUICE_ASSIGN_OR_RETURN(attrs.is_unique, construction.Get<bool>("unique"));
  SLUICE_ASSIGN_OR_RETURN(attrs.seeds, SeededGenerator::ReadSeeds(construction));
  return attrs;
}

// The true classes: a matrix of num_true columns, of classes below `range`.
absl::Status CheckTrueClasses(const Tensor& classes, int64_t num_true, int64_t range) {
  if (classes.rank() != 2 || classes.dim(1) != num_true) {
    return ShapeError(0, "true_classes", classes.shape(),
                      absl::StrCat("a matrix of ", num_true, " columns, as attr num_true says"));
  }
  for (const int64_t value : classes.flat<int64_t>()) {
    if (value >= 0 && value < range) continue;
    return ValueError(0, "true_classes", value, absl::StrCat("0 to ", range - 1));
  }
  return absl::OkStatus();
}

struct Outputs {
  Tensor* sampled;
  Tensor* true_counts;
  Tensor* sampled_counts;
};

absl::StatusOr<Outputs> AllocateOutputs(KernelContext& context, int64_t num_sampled) {
  Outputs outputs;
  SLUICE_ASSIGN_OR_RETURN(outputs.true_counts, context.AllocateOutput(1, context.input(0).shape()));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({num_sampled}));
  SLUICE_ASSIGN_OR_RETURN(outputs.sampled, context.AllocateOutput(0, shape));
  SLUICE_ASSIGN_OR_RETURN(outputs.sampled_counts, context.AllocateOutput(2, shape));
  return outputs;
}

// How often a class of probability `p` is expected among `batch` samples that took `tries` draws: with more draws than
// samples, the probability that it is there, as if the number of draws had been fixed.
float ExpectedCount(float p, int64_t batch, int64_t tries) {
  if (tries == batch) return p * static_cast<float>(batch);
  return -std::expm1(static_cast<float>(tries) * std::log1p(-p));
}

// Draws from a range; the generator, and what a sampler has learnt, belong to the node.
class CandidateSamplerKernel final : public GeneratorKernel {
 public:
  CandidateSamplerKernel(const SamplerAttrs& attrs, std::unique_ptr<RangeSampler> sampler)
      : GeneratorKernel(attrs.seeds), attrs_(attrs), sampler_(std::move(sampler)) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckTrueClasses(context.input(0), attrs_.num_true, sampler_->range()));
    if (attrs_.is_unique && attrs_.num_sampled > sampler_->NumPossible()) {
      return AttrError("num_sampled", absl::StrCat(attrs_.num_sampled, " different classes"),
                       absl::StrCat("at most ", sampler_->NumPossible(), ", as many as can be drawn"));
    }
    SLUICE_ASSIGN_OR_RETURN(const Outputs outputs, AllocateOutputs(context, attrs_.num_sampled));
    // TensorFlow's guess of 2048 words for a sample.
    const Philox first = generator_.Reserve(512 * static_cast<uint64_t>(attrs_.num_sampled));
    if (!sampler_->Learns()) return Sample(context, first, outputs);
    MutexLock lock(&mu_);
    SLUICE_RETURN_IF_ERROR(Sample(context, first, outputs));
    sampler_->Learn(context.input(0).flat<int64_t>());
    return absl::OkStatus();
  }

 private:
  absl::Status Sample(const KernelContext& context, const Philox& first, const Outputs& outputs) const {
    const absl::Span<int64_t> sampled = outputs.sampled->flat<int64_t>();
    PhiloxWords words(first);
    int64_t tries = attrs_.num_sampled;
    if (attrs_.is_unique) {
      SLUICE_ASSIGN_OR_RETURN(tries, SampleUnique(Workers(context.run()), words, sampled));
    } else {
      for (int64_t& value : sampled) value = sampler_->Sample(words);
    }
    Count(sampled, tries, outputs.sampled_counts->flat<float>());
    Count(context.input(0).flat<int64_t>(), tries, outputs.true_counts->flat<float>());
    return absl::OkStatus();
  }

  // Gives the number of draws.
  absl::StatusOr<int64_t> SampleUnique(const Workers& workers, PhiloxWords& words, absl::Span<int64_t> sampled) const {
    constexpr int64_t kMaxTries = std::numeric_limits<int32_t>::max();
    constexpr int64_t kPollMask = 0xffff;
    HashSet<int64_t> seen;
    seen.reserve(sampled.size());
    int64_t tries = 0;
    for (int64_t& place : sampled) {
      do {
        if ((tries & kPollMask) == kPollMask && workers.MustStop()) return workers.WhyStopped();
        if (++tries > kMaxTries) {
          return AttrError("num_sampled", absl::StrCat(sampled.size(), " different classes"),
                           "fewer: some classes are nearly never drawn");
        }
        place = sampler_->Sample(words);
      } while (!seen.insert(place).second);
    }
    return tries;
  }

  void Count(absl::Span<const int64_t> values, int64_t tries, absl::Span<float> counts) const {
    for (size_t i = 0; i < values.size(); ++i) {
      counts[i] = ExpectedCount(sampler_->Probability(values[i]), attrs_.num_sampled, tries);
    }
  }

  const SamplerAttrs attrs_;
  mutable Mutex mu_;  // Of a sampler that learns: for all of a call.
  const std::unique_ptr<RangeSampler> sampler_;
};

// One whose weights stand in a file, which is read when it first runs: by then it is known which files may be.
class FileSamplerKernel final : public Kernel {
 public:
  FileSamplerKernel(const SamplerAttrs& attrs, ClassWeightAttrs weights)
      : attrs_(attrs), weights_(std::move(weights)) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckFileRead(context.run().session_state, weights_.file));
    SLUICE_ASSIGN_OR_RETURN(const CandidateSamplerKernel* const kernel, FindOrMake());
    return kernel->Compute(context);
  }

 private:
  absl::StatusOr<const CandidateSamplerKernel*> FindOrMake() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (kernel_ == nullptr) {
      SLUICE_ASSIGN_OR_RETURN(std::vector<float> weights, ClassWeights(weights_));
      kernel_ = std::make_unique<CandidateSamplerKernel>(attrs_, NewWeightedSampler(std::move(weights)));
    }
    return kernel_.get();
  }

  const SamplerAttrs attrs_;
  const ClassWeightAttrs weights_;
  mutable Mutex mu_;
  mutable std::unique_ptr<const CandidateSamplerKernel> kernel_ ABSL_GUARDED_BY(mu_);
};

template <std::unique_ptr<RangeSampler> (*kNew)(int64_t range)>
absl::StatusOr<std::unique_ptr<Kernel>> MakeRangeSampler(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const SamplerAttrs attrs, ReadAttrs(construction));
  SLUICE_ASSIGN_OR_RETURN(const int64_t range, construction.Get<int64_t>("range_max"));
  const int64_t largest =
      kNew == &NewLearningSampler ? std::numeric_limits<int32_t>::max() - 1 : std::numeric_limits<int64_t>::max();
  if (range < 1 || range > largest) return AttrError("range_max", range, absl::StrCat("1 to ", largest));
  return std::make_unique<CandidateSamplerKernel>(attrs, kNew(range));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFixedSampler(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const SamplerAttrs attrs, ReadAttrs(construction));
  SLUICE_ASSIGN_OR_RETURN(ClassWeightAttrs of_weights, ReadClassWeightAttrs(construction));
  if (!of_weights.file.empty()) return std::make_unique<FileSamplerKernel>(attrs, std::move(of_weights));
  SLUICE_ASSIGN_OR_RETURN(std::vector<float> weights, ClassWeights(of_weights));
  return std::make_unique<CandidateSamplerKernel>(attrs, NewWeightedSampler(std::move(weights)));
}

// All of [0, num_sampled), once.
class AllCandidateKernel final : public Kernel {
 public:
  explicit AllCandidateKernel(const SamplerAttrs& attrs) : attrs_(attrs) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckTrueClasses(context.input(0), attrs_.num_true, attrs_.num_sampled));
    SLUICE_ASSIGN_OR_RETURN(const Outputs outputs, AllocateOutputs(context, attrs_.num_sampled));
    int64_t next = 0;
    for (int64_t& value : outputs.sampled->flat<int64_t>()) value = next++;
    for (float& count : outputs.sampled_counts->flat<float>()) count = 1.0f;
    for (float& count : outputs.true_counts->flat<float>()) count = 1.0f;
    return absl::OkStatus();
  }

 private:
  const SamplerAttrs attrs_;
};

constexpr KernelRow kRows[] = {
    KernelRow("UniformCandidateSampler", &MakeRangeSampler<&NewUniformSampler>),
    KernelRow("LogUniformCandidateSampler", &MakeRangeSampler<&NewLogUniformSampler>),
    KernelRow("LearnedUnigramCandidateSampler", &MakeRangeSampler<&NewLearningSampler>),
    KernelRow("ThreadUnsafeUnigramCandidateSampler", &MakeRangeSampler<&NewLearningSampler>),
    KernelRow("FixedUnigramCandidateSampler", &MakeFixedSampler),
    KernelRow("AllCandidateSampler", &NewWith<AllCandidateKernel, &ReadAttrs>),
};

}  // namespace

absl::Span<const KernelRow> CandidateSamplerKernels() { return kRows; }

}  // namespace sluice
