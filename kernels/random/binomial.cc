// StatelessRandomBinomial and StatefulRandomBinomial: how many of `counts` trials succeed.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/random/batch_parameters.h"
#include "kernels/random/families.h"
#include "kernels/random/fill_random.h"
#include "kernels/random/generator_variable.h"
#include "kernels/random/philox_words.h"
#include "kernels/random/samples_per_parameter.h"
#include "kernels/random/stateless_generator.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

constexpr double kSampleNs = 150;
// Blocks from one number of a call to the next, where successes are counted.
constexpr uint64_t kBlocksPerCount = 42;
// Fewer expected successes are counted one by one.
constexpr double kCountedSuccesses = 10.0;

// Pauses between successes have a geometric distribution: as many successes as pauses fit. REQUIRES: few are expected.
double CountSuccesses(double count, double prob, Philox generator) {
  PhiloxDoubles uniforms(&generator);
  const double log_failure = std::log1p(-prob);
  double passed = 0.0;
  double successes = 0.0;
  for (;;) {
    passed += std::ceil(std::log(uniforms.Next()) / log_failure);
    if (!(passed <= count)) return successes;
    successes += 1.0;
  }
}

// log(k!) less Stirling's approximation of it.
double StirlingTail(double k) {
  constexpr double kTails[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                               0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                               0.00925546218271273, 0.00833056343336287};
  if (k <= 9.0) return kTails[static_cast<size_t>(k)];
  const double square = (k + 1.0) * (k + 1.0);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1.0);
}

// Transformed rejection (Hormann, "The generation of binomial random variates", 1993: BTRS), for prob <= 0.5. A small
// value.
class RejectionSampler {
 public:
  RejectionSampler(double count, double prob)
      : count_(count),
        spread_(std::sqrt(count * prob * (1.0 - prob))),
        b_(1.15 + 2.53 * spread_),
        a_(-0.0873 + 0.0248 * b_ + 0.01 * prob),
        center_(count * prob + 0.5),
        box_(0.92 - 4.2 / b_),
        odds_(prob / (1.0 - prob)),
        alpha_((2.83 + 5.1 / b_) * spread_),
        mode_(std::floor((count + 1.0) * prob)) {}

  // Nothing after kMaxTries.
  std::optional<double> Draw(Philox generator) const {
    PhiloxDoubles uniforms(&generator);
    for (int i = 0; i < kMaxTries; ++i) {
      const double u = uniforms.Next() - 0.5;
      const double v = uniforms.Next();
      const double edge = 0.5 - std::abs(u);
      const double k = std::floor((2.0 * a_ / edge + b_) * u + center_);
      if (edge >= 0.07 && v <= box_) return k;
      if (!(k >= 0.0 && k <= count_)) continue;
      if (Accepts(edge, v, k)) return k;
    }
    return std::nullopt;
  }

 private:
  bool Accepts(double edge, double v, double k) const {
    const double rest = count_ - mode_;
    const double bound = (mode_ + 0.5) * std::log((mode_ + 1.0) / (odds_ * (rest + 1.0))) +
                         (count_ + 1.0) * std::log((rest + 1.0) / (count_ - k + 1.0)) +
                         (k + 0.5) * std::log(odds_ * (count_ - k + 1.0) / (k + 1.0)) + StirlingTail(mode_) +
                         StirlingTail(rest) - StirlingTail(k) - StirlingTail(count_ - k);
    return std::log(v * alpha_ / (a_ / (edge * edge) + b_)) <= bound;
  }

  double count_;
  double spread_;
  double b_;
  double a_;
  double center_;
  double box_;
  double odds_;
  double alpha_;
  double mode_;
};

// A number as an element of the parameters' dtype holds it. What TensorFlow computes in that dtype decides which
// sampler draws, and so all numbers.
double RoundedTo(DType dtype, double number) {
  if (dtype == DType::kDouble) return number;
  const float rounded = static_cast<float>(number);
  return static_cast<double>(dtype == DType::kHalf ? static_cast<float>(Half(rounded)) : rounded);
}

// Fills the samples for one pair of parameters; false where that came to no end.
bool DrawBatch(double count, double prob, DType dtype, const Philox& first, int64_t number,
               absl::Span<double> samples) {
  if (count <= 0.0 || prob <= 0.0 || prob >= 1.0) {
    std::fill(samples.begin(), samples.end(), count > 0.0 && prob >= 1.0 ? count : 0.0);
    return true;
  }
  const bool is_likely = prob > 0.5;  // Then failures are counted.
  const double p = is_likely ? RoundedTo(dtype, 1.0 - prob) : prob;
  if (!(RoundedTo(dtype, count * p) >= kCountedSuccesses)) {
    for (double& sample : samples) {
      sample = CountSuccesses(count, p, GeneratorOfNumber(first, number++, kBlocksPerCount));
    }
  } else {
    const RejectionSampler sampler(count, p);
    for (double& sample : samples) {
      const std::optional<double> drawn = sampler.Draw(GeneratorOfNumber(first, number++, kBlocksPerNumber));
      if (!drawn.has_value()) return false;
      sample = *drawn;
    }
  }
  if (is_likely) {
    for (double& sample : samples) sample = count - sample;
  }
  return true;
}

absl::Status BadParameter(int input, absl::string_view name, double found, absl::string_view expected) {
  return ValueError(input, name, found, expected);
}

// Parameters in inputs `input` and `input` + 1.
absl::Status DrawBinomial(const KernelContext& context, const Philox& first, int input, const BatchParameters& batches,
                          Tensor* out) {
  const Tensor& counts = context.input(input);
  const Tensor& probs = context.input(input + 1);
  const DType dtype = out->dtype();
  const auto draw = [&](int64_t batch, int64_t number, absl::Span<double> samples) -> absl::Status {
    const double count = NumberAt(counts, batches.IndexOf(0, batch));
    const double prob = NumberAt(probs, batches.IndexOf(1, batch));
    const bool is_nan = (std::isnan(prob) && !(count <= 0.0)) || (std::isnan(count) && !(prob <= 0.0));
    if (is_nan && !HoldsIntegers(dtype)) {
      std::fill(samples.begin(), samples.end(), std::numeric_limits<double>::quiet_NaN());
      return absl::OkStatus();
    }
    if (is_nan && std::isnan(prob)) return BadParameter(input + 1, "probs", prob, "a number, where integers are drawn");
    if (is_nan || (HoldsIntegers(dtype) && count > LargestOf(dtype))) {
      return BadParameter(input, "counts", count, absl::StrCat("a number that fits ", DTypeName(dtype)));
    }
    if (DrawBatch(count, prob, counts.dtype(), first, number, samples)) return absl::OkStatus();
    return BadParameter(input, "counts", count, "a number of trials that can be counted");
  };
  return FillSamples(Workers(context.run()), batches.num_batches(), kSampleNs, draw, out);
}

absl::StatusOr<BatchParameters> ReadParameters(const KernelContext& context, int input) {
  return BatchParameters::Make({&context.input(input).shape(), &context.input(input + 1).shape()});
}

absl::Status StatelessBinomial(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "shape"));
  SLUICE_ASSIGN_OR_RETURN(const Philox first, ReadSeedGenerator(context, 1));
  SLUICE_ASSIGN_OR_RETURN(const BatchParameters batches, ReadParameters(context, 2));
  SLUICE_RETURN_IF_ERROR(CheckEndsWith(shape, batches.shape()));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
  return DrawBinomial(context, first, 2, batches, out);
}

absl::Status StatefulBinomial(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckPhilox(context, 1, "algorithm"));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 2, "shape"));
  SLUICE_ASSIGN_OR_RETURN(const BatchParameters batches, ReadParameters(context, 3));
  SLUICE_RETURN_IF_ERROR(CheckEndsWith(shape, batches.shape()));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
  if (batches.num_batches() == 0) return absl::OkStatus();
  // The batch size of TensorFlow, on which the numbers depend.
  const int64_t per_batch = out->num_elements() / batches.num_batches();
  const uint64_t numbers = 50 * static_cast<uint64_t>(batches.num_batches()) * static_cast<uint64_t>(per_batch + 3);
  SLUICE_ASSIGN_OR_RETURN(const Philox first, TakeFromVariable(context, numbers * kBlocksPerNumber));
  return DrawBinomial(context, first, 3, batches, out);
}

constexpr DTypeSet kParameters = {DType::kHalf, DType::kFloat, DType::kDouble};
constexpr DTypeSet kCounts = kParameters | kIndexTypes;
constexpr absl::string_view kSeedInputs[] = {"shape", "seed", "counts", "probs"};
constexpr absl::string_view kVariableInputs[] = {"resource", "algorithm", "shape", "counts", "probs"};

constexpr KernelRow kRows[] = {
    KernelRow("StatelessRandomBinomial", &Call<&StatelessBinomial>)
        .Types("dtype", kCounts)
        .Types("T", kParameters)
        .HostInputs(kSeedInputs),
    KernelRow("StatefulRandomBinomial", &Call<&StatefulBinomial>)
        .Types("dtype", kCounts)
        .Types("T", kParameters)
        .HostInputs(kVariableInputs),
};

}  // namespace

absl::Span<const KernelRow> BinomialKernels() { return kRows; }

}  // namespace sluice
