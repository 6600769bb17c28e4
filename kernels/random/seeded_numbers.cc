// RandomUniform, RandomStandardNormal, TruncatedNormal and RandomUniformInt: numbers of a sequence that belongs to the
// node and that the attrs seed and seed2 begin.

#include <memory>

#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/random/families.h"
#include "kernels/random/fill_random.h"
#include "kernels/random/seeded_generator.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Numbers of the shape in input 0.
class SeededNumbersKernel final : public GeneratorKernel {
 public:
  SeededNumbersKernel(const SeededGenerator::Seeds& seeds, Distribution distribution)
      : GeneratorKernel(seeds), distribution_(distribution) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "shape"));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    const Philox first = generator_.Reserve(static_cast<uint64_t>(output->num_elements()) * kBlocksPerNumber);
    return FillRandom(Workers(context.run()), first, distribution_, output);
  }

 private:
  const Distribution distribution_;
};

template <Distribution kDistribution>
absl::StatusOr<std::unique_ptr<Kernel>> MakeSeeded(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const SeededGenerator::Seeds seeds, SeededGenerator::ReadSeeds(construction));
  return std::make_unique<SeededNumbersKernel>(seeds, kDistribution);
}

// Integers from input 1 up to, and not including, input 2.
class RandomUniformIntKernel final : public GeneratorKernel {
 public:
  explicit RandomUniformIntKernel(const SeededGenerator::Seeds& seeds) : GeneratorKernel(seeds) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "shape"));
    SLUICE_ASSIGN_OR_RETURN(const IntRange range, ReadIntRange(context, 1, shape.num_elements() == 0));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    const Philox first = generator_.Reserve(static_cast<uint64_t>(output->num_elements()) * kBlocksPerNumber);
    return FillRandomInts(Workers(context.run()), first, range, output);
  }
};

constexpr absl::string_view kIntInputs[] = {"shape", "minval", "maxval"};

constexpr KernelRow kRows[] = {
    KernelRow("RandomUniform", &MakeSeeded<Distribution::kUniform>).Types("dtype", kFloatTypes).HostInput("shape"),
    KernelRow("RandomStandardNormal", &MakeSeeded<Distribution::kNormal>)
        .Types("dtype", kFloatTypes)
        .HostInput("shape"),
    KernelRow("TruncatedNormal", &MakeSeeded<Distribution::kTruncatedNormal>)
        .Types("dtype", kFloatTypes)
        .HostInput("shape"),
    KernelRow("RandomUniformInt", &NewWith<RandomUniformIntKernel, &SeededGenerator::ReadSeeds>)
        .Types("Tout", {DType::kInt32, DType::kInt64})
        .HostInputs(kIntInputs),
};

}  // namespace

absl::Span<const KernelRow> SeededNumbersKernels() { return kRows; }

}  // namespace sluice
