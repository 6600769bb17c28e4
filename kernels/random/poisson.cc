// RandomPoisson, RandomPoissonV2 and StatelessRandomPoisson: counts of events at a given rate.

#include <math.h>  // lgamma_r, which <cmath> does not have.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/random/families.h"
#include "kernels/random/fill_random.h"
#include "kernels/random/philox_words.h"
#include "kernels/random/samples_per_parameter.h"
#include "kernels/random/seeded_generator.h"
#include "kernels/random/stateless_generator.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

constexpr double kSampleNs = 120;
// Events of slower processes are counted one by one.
constexpr double kCountedRate = 10.0;

// Events within one unit of time: exponential pauses are multiplied, as uniform numbers, until exp(-rate) is passed
// (Knuth). A rate below 0 gives 0.
double CountEvents(double rate, Philox generator) {
  const double limit = std::exp(-rate);
  PhiloxDoubles uniforms(&generator);
  double product = 1.0;
  double count = 0.0;
  while ((product *= uniforms.Next()) > limit) count += 1.0;
  return count;
}

// Transformed rejection (Hormann, "The transformed rejection method for generating Poisson random variables", 1993:
// PTRS), for one rate. A small value.
class RejectionSampler {
 public:
  explicit RejectionSampler(double rate)
      : rate_(rate),
        log_rate_(std::log(rate)),
        b_(0.931 + 2.53 * std::sqrt(rate)),
        a_(-0.059 + 0.02483 * b_),
        inverse_alpha_(1.1239 + 1.1328 / (b_ - 3.4)),
        box_(0.9277 - 3.6224 / (b_ - 2.0)) {}

  // A count of at most `largest`, or nothing after kMaxTries.
  std::optional<double> Draw(double largest, Philox generator) const {
    PhiloxDoubles uniforms(&generator);
    for (int i = 0; i < kMaxTries; ++i) {
      const double u = uniforms.Next() - 0.5;
      const double v = uniforms.Next();
      const double edge = 0.5 - std::abs(u);
      const double count = std::floor((2.0 * a_ / edge + b_) * u + rate_ + 0.43);
      if (count > largest) continue;
      if (edge >= 0.07 && v <= box_) return count;
      if (count < 0.0 || (edge < 0.013 && v > edge)) continue;
      if (Accepts(edge, v, count)) return count;
    }
    return std::nullopt;
  }

 private:
  bool Accepts(double edge, double v, double count) const {
    int sign;
    const double s = std::log(v * inverse_alpha_ / (a_ / (edge * edge) + b_));
    return s <= -rate_ + count * log_rate_ - lgamma_r(count + 1.0, &sign);
  }

  double rate_;
  double log_rate_;
  double b_;
  double a_;
  double inverse_alpha_;
  double box_;
};

absl::Status BadRate(int input, double rate, absl::string_view expected) {
  return ValueError(input, "rate", rate, expected);
}

absl::Status DrawPoisson(const KernelContext& context, const Philox& first, int rate_input, Tensor* out) {
  const Tensor& rates = context.input(rate_input);
  const DType dtype = out->dtype();
  const double largest = LargestOf(dtype);
  const auto draw = [&](int64_t parameter, int64_t number, absl::Span<double> samples) -> absl::Status {
    const double rate = NumberAt(rates, parameter);
    if (std::isnan(rate)) return BadRate(rate_input, rate, "a number");
    if (rate < kCountedRate) {
      for (double& sample : samples) sample = CountEvents(rate, GeneratorOfNumber(first, number++, kBlocksPerNumber));
      return absl::OkStatus();
    }
    if (std::isinf(rate)) {  // Integers have no infinity; TensorFlow's answer is 0.
      std::fill(samples.begin(), samples.end(), HoldsIntegers(dtype) ? 0.0 : rate);
      return absl::OkStatus();
    }
    const RejectionSampler sampler(rate);
    for (double& sample : samples) {
      const std::optional<double> count = sampler.Draw(largest, GeneratorOfNumber(first, number++, kBlocksPerNumber));
      if (!count.has_value()) return BadRate(rate_input, rate, absl::StrCat("counts that fit ", DTypeName(dtype)));
      sample = *count;
    }
    return absl::OkStatus();
  };
  return FillSamples(Workers(context.run()), rates.num_elements(), kSampleNs, draw, out);
}

absl::Status StatelessPoisson(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Philox first, ReadSeedGenerator(context, 1));
  return DrawStateless(context, &DrawPoisson, first, 2);
}

constexpr DTypeSet kFloats = {DType::kHalf, DType::kFloat, DType::kDouble};
constexpr DTypeSet kCounts = kFloats | kIndexTypes;

constexpr KernelRow kRows[] = {
    KernelRow("RandomPoisson", &NewWith<SamplesPerParameterKernel<&DrawPoisson>, &SeededGenerator::ReadSeeds>)
        .Types("dtype", kFloats)
        .HostInput("shape"),
    KernelRow("RandomPoissonV2", &NewWith<SamplesPerParameterKernel<&DrawPoisson>, &SeededGenerator::ReadSeeds>)
        .Types("R", kCounts)
        .Types("dtype", kCounts)
        .HostInput("shape"),
    KernelRow("StatelessRandomPoisson", &Call<&StatelessPoisson>)
        .Types("Rtype", kCounts)
        .Types("dtype", kCounts)
        .HostInput("shape")
        .HostInput("seed"),
};

}  // namespace

absl::Span<const KernelRow> PoissonKernels() { return kRows; }

}  // namespace sluice
