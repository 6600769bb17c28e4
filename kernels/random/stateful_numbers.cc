// Numbers of a generator that a variable keeps, and the ops that leave out a part of its sequence.

#include <cstring>

#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/random/families.h"
#include "kernels/random/fill_random.h"
#include "kernels/random/generator_variable.h"
#include "kernels/random/seeded_generator.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Numbers of the shape in input 2.
template <Distribution kDistribution>
absl::Status Numbers(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckAlgorithm(context, 1, "algorithm"));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 2, "shape"));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
  const uint64_t blocks = static_cast<uint64_t>(shape.num_elements()) * kBlocksPerNumber;
  SLUICE_ASSIGN_OR_RETURN(const Philox first, TakeFromVariable(context, blocks));
  return FillRandom(Workers(context.run()), first, kDistribution, output);
}

absl::Status Ints(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckAlgorithm(context, 1, "algorithm"));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 2, "shape"));
  SLUICE_ASSIGN_OR_RETURN(const IntRange range, ReadIntRange(context, 3, /*is_empty=*/false));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
  const uint64_t blocks = static_cast<uint64_t>(shape.num_elements()) * kBlocksPerNumber;
  SLUICE_ASSIGN_OR_RETURN(const Philox first, TakeFromVariable(context, blocks));
  return FillRandomInts(Workers(context.run()), first, range, output);
}

// Leaves out as many numbers as input 2 says, and gives the state before where the op has an output.
template <bool kReads>
absl::Status Skip(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckAlgorithm(context, 1, kReads ? "alg" : "algorithm"));
  const Tensor& delta = context.input(2);
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, 2, "delta"));
  uint64_t numbers;  // A negative one of int64 goes back.
  std::memcpy(&numbers, delta.raw_data(), sizeof(numbers));
  SLUICE_ASSIGN_OR_RETURN(const Philox before, TakeFromVariable(context, numbers * kBlocksPerNumber));
  if (!kReads) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const state, context.AllocateOutput(0, Shape::Of({kGeneratorState})));
  const uint64_t words[] = {before.low(), before.high(), before.key()};
  std::memcpy(state->mutable_raw_data(), words, sizeof(words));
  return absl::OkStatus();
}

// Unpredictable bits.
absl::Status NonDeterministicInts(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "shape"));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
  const SeededGenerator::Seeds seeds = SeededGenerator::SystemSeeds();
  const Philox first(static_cast<uint64_t>(seeds.seed), static_cast<uint64_t>(seeds.seed2));
  return FillRandom(Workers(context.run()), first, Distribution::kBits, output);
}

constexpr DTypeSet kWords = {DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64};
constexpr absl::string_view kHostInputs[] = {"resource", "algorithm", "shape"};
constexpr absl::string_view kIntInputs[] = {"resource", "algorithm", "shape", "minval", "maxval"};
constexpr absl::string_view kSkipInputs[] = {"resource", "algorithm", "delta"};
constexpr absl::string_view kReadInputs[] = {"resource", "alg", "delta"};

constexpr TypeConstraint kFloatNumbers[] = {{"dtype", kFloatTypes}, {"shape_dtype", kIndexTypes}};
constexpr TypeConstraint kWordNumbers[] = {{"dtype", kWords}, {"shape_dtype", kIndexTypes}};
constexpr TypeConstraint kIntNumbers[] = {{"dtype", kIndexTypes}, {"shape_dtype", kIndexTypes}};

constexpr KernelRow kRows[] = {
    KernelRow("StatefulUniform", &Call<&Numbers<Distribution::kUniform>>)
        .AllTypes(kFloatNumbers)
        .HostInputs(kHostInputs),
    KernelRow("StatefulStandardNormalV2", &Call<&Numbers<Distribution::kNormal>>)
        .AllTypes(kFloatNumbers)
        .HostInputs(kHostInputs),
    KernelRow("StatefulTruncatedNormal", &Call<&Numbers<Distribution::kTruncatedNormal>>)
        .AllTypes(kFloatNumbers)
        .HostInputs(kHostInputs),
    KernelRow("StatefulUniformFullInt", &Call<&Numbers<Distribution::kBits>>)
        .AllTypes(kWordNumbers)
        .HostInputs(kHostInputs),
    KernelRow("StatefulUniformInt", &Call<&Ints>).AllTypes(kIntNumbers).HostInputs(kIntInputs),
    KernelRow("RngSkip", &Call<&Skip<false>>).HostInputs(kSkipInputs).Cheap(),
    KernelRow("RngReadAndSkip", &Call<&Skip<true>>).HostInputs(kReadInputs).Cheap(),
    KernelRow("NonDeterministicInts", &Call<&NonDeterministicInts>).AllTypes(kWordNumbers).HostInput("shape"),
};

}  // namespace

absl::Span<const KernelRow> StatefulNumbersKernels() { return kRows; }

}  // namespace sluice
