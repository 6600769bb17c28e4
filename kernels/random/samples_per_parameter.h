#ifndef SLUICE_KERNELS_RANDOM_SAMPLES_PER_PARAMETER_H_
#define SLUICE_KERNELS_RANDOM_SAMPLES_PER_PARAMETER_H_

// Gamma, Poisson and binomial numbers: many samples for each of several parameters.
//
// Note [Rejection samplers]
// Sample s of parameter p is number p * samples + s of the call, whatever thread draws it: its generator begins so many
// blocks per number further (256, as in TensorFlow, which has 42 for one sampler) that it does not matter how many
// tries other numbers take. It lies at s * parameters + p of the output: samples are the outer axes. A sampler that has
// rejected kMaxTries numbers in a row gives up: only parameters that leave nothing to accept (a rate of 1e30 where
// int32 is wanted) come to that. TensorFlow never returns for those.

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/value/tensor.h"
#include "kernels/kernel.h"
#include "kernels/kernel_context.h"
#include "kernels/random/philox.h"
#include "kernels/random/seeded_generator.h"
#include "kernels/workers.h"

namespace sluice {

constexpr int kMaxTries = 20'000;

// Where the generator stands for a number of a call whose first one begins at `first`.
Philox GeneratorOfNumber(const Philox& first, int64_t number, uint64_t blocks);

// Draws samples of one parameter: `numbers` says which numbers of the call (its first one) they are.
using DrawSamples = absl::FunctionRef<absl::Status(int64_t parameter, int64_t number, absl::Span<double> samples)>;

// Fills `out`, of half, bfloat16, float, double, int32 or int64, with what `draw` gives, rounded to its dtype.
// `draw_ns` is the time of one sample. The error of the first parameter that `draw` refuses. REQUIRES: samples that the
// dtype holds; a number of elements that is a multiple of `parameters`, which is not 0 unless `out` is empty.
absl::Status FillSamples(const Workers& workers, int64_t parameters, double draw_ns, DrawSamples draw, Tensor* out);

// Draws all samples of a call, which begins at `first`, for the parameters in input `parameters`.
using DrawCall = absl::Status (*)(const KernelContext& context, const Philox& first, int parameters, Tensor* out);

// As many samples as the shape in input 0 has elements, for each parameter of input 1, by the next numbers of
// `generator`.
absl::Status DrawReserved(KernelContext& context, DrawCall draw, SeededGenerator* generator);

// The same as a kernel, whose node the sequence belongs to.
template <DrawCall kDraw>
class SamplesPerParameterKernel final : public GeneratorKernel {
 public:
  explicit SamplesPerParameterKernel(const SeededGenerator::Seeds& seeds) : GeneratorKernel(seeds) {}

  absl::Status Compute(KernelContext& context) const override { return DrawReserved(context, kDraw, &generator_); }
};
// The same without state: samples of the whole shape in input 0, which ends with that of the parameters in input
// `parameters`.
absl::Status DrawStateless(KernelContext& context, DrawCall draw, const Philox& first, int parameters);

// Whether elements of `dtype` are integers.
bool HoldsIntegers(DType dtype);
// The largest whole number below 2^63 that an element of `dtype` holds, or infinity for float and double.
double LargestOf(DType dtype);

// Element `i` of a tensor of one of these dtypes.
double NumberAt(const Tensor& tensor, int64_t i);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_SAMPLES_PER_PARAMETER_H_
