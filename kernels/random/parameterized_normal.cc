// ParameterizedTruncatedNormal and StatelessParameterizedTruncatedNormal.

#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/random/batch_parameters.h"
#include "kernels/random/bounded_normal.h"
#include "kernels/random/families.h"
#include "kernels/random/seeded_generator.h"
#include "kernels/random/stateless_generator.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

constexpr absl::string_view kParameterNames[] = {"means", "stdevs", "minvals", "maxvals"};

BoundedNormalInputs ReadInputs(const KernelContext& context, int first) {
  return {{&context.input(first), &context.input(first + 1), &context.input(first + 2), &context.input(first + 3)},
          first};
}

// The first size of the shape is the number of batches, each parameter one number for all of them or one for each.
class ParameterizedNormalKernel final : public GeneratorKernel {
 public:
  explicit ParameterizedNormalKernel(const SeededGenerator::Seeds& seeds) : GeneratorKernel(seeds) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "shape"));
    if (shape.rank() == 0) return ShapeError(0, "shape", "no sizes", "one or more");
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    const BoundedNormalInputs inputs = ReadInputs(context, 1);
    SLUICE_ASSIGN_OR_RETURN(const BoundedNormalBatches batches, CutBatches(inputs, *out));
    if (out->num_elements() == 0) return absl::OkStatus();
    const auto index = [&inputs](size_t tensor, int64_t batch) {
      return inputs.tensors[tensor]->num_elements() == 1 ? 0 : batch;
    };
    // As TensorFlow reserves them: two numbers for each of 1000 tries.
    const uint64_t blocks = 500 * static_cast<uint64_t>(batches.count) * static_cast<uint64_t>(batches.samples + 3);
    return FillBoundedNormal(Workers(context.run()), generator_.Reserve(blocks), inputs, batches, index, out);
  }

 private:
  static absl::StatusOr<BoundedNormalBatches> CutBatches(const BoundedNormalInputs& inputs, const Tensor& out) {
    bool is_one = true;  // All parameters are scalars: then batches are cut anew.
    for (int i = 0; i < 4; ++i) {
      const Tensor& parameter = *inputs.tensors[i];
      const bool fits = parameter.rank() <= 1 && (parameter.num_elements() == 1 || parameter.dim(0) == out.dim(0));
      is_one = is_one && parameter.rank() == 0;
      if (fits) continue;
      return ShapesError(inputs.first_input + i, kParameterNames[i], parameter.shape(),
                         absl::StrCat("a scalar, or a vector of 1 or ", out.dim(0)));
    }
    constexpr int64_t kSamples = 100;
    if (is_one) return BoundedNormalBatches{(out.num_elements() + kSamples - 1) / kSamples, kSamples, false};
    return BoundedNormalBatches{out.dim(0), out.dim(0) == 0 ? 0 : out.num_elements() / out.dim(0), false};
  }
};

// Parameters are broadcast to the last axes of the shape.
absl::Status StatelessParameterizedNormal(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "shape"));
  SLUICE_ASSIGN_OR_RETURN(const Philox first, ReadSeedGenerator(context, 1));
  const BoundedNormalInputs inputs = ReadInputs(context, 2);
  SLUICE_ASSIGN_OR_RETURN(const BatchParameters parameters,
                          BatchParameters::Make({&inputs.tensors[0]->shape(), &inputs.tensors[1]->shape(),
                                                 &inputs.tensors[2]->shape(), &inputs.tensors[3]->shape()}));
  SLUICE_RETURN_IF_ERROR(CheckEndsWith(shape, parameters.shape()));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
  if (out->num_elements() == 0) return absl::OkStatus();
  const int64_t count = parameters.num_batches();
  const BoundedNormalBatches batches = {count, out->num_elements() / count, true};
  const auto index = [&parameters](size_t tensor, int64_t batch) { return parameters.IndexOf(tensor, batch); };
  return FillBoundedNormal(Workers(context.run()), first, inputs, batches, index, out);
}

constexpr DTypeSet kTypes = {DType::kHalf, DType::kFloat, DType::kDouble};
constexpr absl::string_view kStatelessInputs[] = {"shape", "seed", "means", "stddevs", "minvals", "maxvals"};
constexpr absl::string_view kInputs[] = {"shape", "means", "stdevs", "minvals", "maxvals"};

constexpr KernelRow kRows[] = {
    KernelRow("ParameterizedTruncatedNormal", &NewWith<ParameterizedNormalKernel, &SeededGenerator::ReadSeeds>)
        .Types("dtype", kTypes)
        .HostInputs(kInputs),
    KernelRow("StatelessParameterizedTruncatedNormal", &Call<&StatelessParameterizedNormal>)
        .Types("dtype", kTypes)
        .HostInputs(kStatelessInputs),
};

}  // namespace

absl::Span<const KernelRow> ParameterizedNormalKernels() { return kRows; }

}  // namespace sluice
