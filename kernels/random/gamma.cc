// RandomGamma, StatelessRandomGammaV2 and V3: gamma numbers by Marsaglia and Tsang, "A simple method for generating
// gamma variables" (2000).

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/random/families.h"
#include "kernels/random/fill_random.h"
#include "kernels/random/normal_pair.h"
#include "kernels/random/philox_words.h"
#include "kernels/random/samples_per_parameter.h"
#include "kernels/random/seeded_generator.h"
#include "kernels/random/stateless_generator.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

constexpr double kSampleNs = 90;

// Normal numbers, the second of a pair first.
class Normals {
 public:
  explicit Normals(Philox* generator) : generator_(*generator) {}
  double Next() {
    has_first_ = !has_first_;
    if (!has_first_) return pair_[0];
    const Philox::Block bits = generator_.Next();
    NormalPair(bits[0], bits[1], bits[2], bits[3], pair_);
    return pair_[1];
  }

 private:
  Philox& generator_;
  double pair_[2] = {0.0, 0.0};
  bool has_first_ = false;
};

// For one alpha. A small value.
class GammaSampler {
 public:
  explicit GammaSampler(double alpha)
      : alpha_(alpha), d_(alpha + (alpha < 1.0 ? 2.0 / 3 : -1.0 / 3)), c_(1.0 / 3 / std::sqrt(d_)) {}

  // Where d is not positive, nothing would ever be accepted.
  static bool Takes(double alpha) { return alpha > -2.0 / 3; }

  double Draw(Philox generator) const {
    PhiloxDoubles uniforms(&generator);
    if (alpha_ == 1.0) return -std::log1p(-uniforms.Next());  // Exponential.
    Normals normals(&generator);
    for (;;) {
      const double x = normals.Next();
      const double root = 1.0 + c_ * x;
      if (root <= 0.0) continue;
      const double v = root * root * root;
      const double u = uniforms.Next();
      // The first bound lies within the second, and saves its logarithms.
      const bool accepts =
          u < 1.0 - 0.0331 * (x * x) * (x * x) || std::log(u) < 0.5 * x * x + d_ * (1.0 - v + std::log(v));
      if (!accepts) continue;
      // Below 1 the number is that of alpha + 1, made smaller.
      return alpha_ < 1.0 ? d_ * v * std::pow(uniforms.Next(), 1.0 / alpha_) : d_ * v;
    }
  }

 private:
  double alpha_;
  double d_;
  double c_;
};

absl::Status DrawGamma(const KernelContext& context, const Philox& first, int alpha_input, Tensor* out) {
  const Tensor& alphas = context.input(alpha_input);
  const auto draw = [&](int64_t parameter, int64_t number, absl::Span<double> samples) -> absl::Status {
    const double alpha = NumberAt(alphas, parameter);
    if (!GammaSampler::Takes(alpha)) return ValueError(alpha_input, "alpha", alpha, "0 or more");
    const GammaSampler sampler(alpha);
    for (double& sample : samples) sample = sampler.Draw(GeneratorOfNumber(first, number++, kBlocksPerNumber));
    return absl::OkStatus();
  };
  return FillSamples(Workers(context.run()), alphas.num_elements(), kSampleNs, draw, out);
}

template <bool kHasKey>
absl::Status StatelessGamma(KernelContext& context) {
  constexpr int kAlpha = kHasKey ? 4 : 2;
  SLUICE_ASSIGN_OR_RETURN(const Philox first,
                          kHasKey ? ReadKeyCounterGenerator(context, 1) : ReadSeedGenerator(context, 1));
  return DrawStateless(context, &DrawGamma, first, kAlpha);
}

constexpr DTypeSet kTypes = {DType::kHalf, DType::kFloat, DType::kDouble};

constexpr KernelRow kRows[] = {
    KernelRow("RandomGamma", &NewWith<SamplesPerParameterKernel<&DrawGamma>, &SeededGenerator::ReadSeeds>)
        .Types("T", kTypes)
        .HostInput("shape"),
    KernelRow("StatelessRandomGammaV2", &Call<&StatelessGamma<false>>)
        .Types("dtype", kTypes)
        .HostInput("shape")
        .HostInput("seed"),
    KernelRow("StatelessRandomGammaV3", &Call<&StatelessGamma<true>>)
        .Types("dtype", kTypes)
        .HostInput("shape")
        .HostInput("alg"),
};

}  // namespace

absl::Span<const KernelRow> GammaKernels() { return kRows; }

}  // namespace sluice
