#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/queues/accumulator.h"
#include "kernels/queues/families.h"
#include "kernels/queues/named_resource.h"

namespace sluice {
namespace {

// The dtypes that TensorFlow accumulates.
constexpr DTypeSet kSummed{DType::kFloat, DType::kDouble, DType::kHalf};

absl::StatusOr<CountedPtr<Accumulator>> InputAccumulator(const KernelContext& context, DType dtype, bool is_sparse) {
  SLUICE_ASSIGN_OR_RETURN(CountedPtr<Accumulator> accumulator, LookupNamed<Accumulator>(context));
  if (accumulator->spec().dtype == dtype && accumulator->spec().is_sparse == is_sparse) return accumulator;
  return Error(ErrorCode::kResourceType)
      .Input(0)
      .Found(accumulator->DebugString())
      .Expected(absl::StrCat(is_sparse ? "a sparse accumulator of " : "an accumulator of ", DTypeName(dtype)));
}

absl::Status ApplyGradient(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Accumulator> accumulator,
                          InputAccumulator(context, context.input_type(2), /*is_sparse=*/false));
  SLUICE_ASSIGN_OR_RETURN(const int64_t step, ReadIndexScalar(context, 1, "local_step"));
  return accumulator->Apply(step, [&](GradientSum& sum) -> absl::Status {
    const PartialShape& shape = accumulator->spec().shape;
    if (!shape.IsCompatibleWith(context.input(2).shape())) {
      return ShapesError(2, "gradient", context.input(2).shape(), shape.ToString());
    }
    return sum.Add(context.TakeInput(2), context.allocator());
  });
}

// Rows of a gradient: the inputs of SparseAccumulatorApplyGradient.
absl::Status CheckRows(const KernelContext& context, const PartialShape& shape, bool has_known_shape) {
  const Tensor& indices = context.input(2);
  const Tensor& values = context.input(3);
  if (indices.rank() != 1) return ShapesError(2, "gradient_indices", indices.shape(), "a vector");
  if (values.rank() < 1 || values.dim(0) != indices.dim(0)) {
    return ShapesError(3, "gradient_values", values.shape(), absl::StrCat(indices.dim(0), " rows"));
  }
  PartialShape whole = shape;
  if (has_known_shape) {
    SLUICE_ASSIGN_OR_RETURN(const Shape given, ReadShapeInput(context, 4, "gradient_shape"));
    if (!shape.IsCompatibleWith(given)) return ShapesError(4, "gradient_shape", given, shape.ToString());
    whole = PartialShape::From(given);
  }
  if (!whole.has_rank()) return absl::OkStatus();
  bool is_right = whole.rank() == values.rank();
  for (int axis = 1; is_right && axis < values.rank(); ++axis) {
    is_right = whole.dim(axis) < 0 || whole.dim(axis) == values.dim(axis);
  }
  if (!is_right) {
    return ShapesError(3, "gradient_values", values.shape(), absl::StrCat("rows of ", whole.ToString()));
  }
  if (whole.dim(0) < 0) return absl::OkStatus();
  for (const int64_t index : indices.flat<int64_t>()) {
    if (index < whole.dim(0)) continue;
    return ValueError(2, "gradient_indices", index, absl::StrCat("less than ", whole.dim(0)));
  }
  return absl::OkStatus();
}

// Rows with their indices.
class SparseApplyGradientKernel final : public Kernel {
 public:
  explicit SparseApplyGradientKernel(bool has_known_shape) : has_known_shape_(has_known_shape) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Accumulator> accumulator,
                            InputAccumulator(context, context.input_type(3), /*is_sparse=*/true));
    SLUICE_ASSIGN_OR_RETURN(const int64_t step, ReadIndexScalar(context, 1, "local_step"));
    return accumulator->Apply(step, [&](GradientSum& sum) -> absl::Status {
      SLUICE_RETURN_IF_ERROR(CheckRows(context, accumulator->spec().shape, has_known_shape_));
      return sum.AddRows(context.input(2), context.TakeInput(3), context.allocator());
    });
  }

 private:
  const bool has_known_shape_;
};

// The shape that the whole gradient has, as far as it is known: unknown sizes are -1.
absl::Status SetWholeShape(KernelContext& context, const PartialShape& shape, const Shape& values) {
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(2, Shape::Of({values.rank()})));
  for (int axis = 0; axis < values.rank(); ++axis) {
    const int64_t rows = shape.has_rank() ? shape.dim(0) : -1;
    out->flat<int64_t>()[static_cast<size_t>(axis)] = axis == 0 ? std::max<int64_t>(rows, -1) : values.dim(axis);
  }
  return absl::OkStatus();
}

// The mean or the sum of the gradients, once they are enough.
template <bool kIsSparse>
class TakeGradientKernel final : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& context, Done done) const override {
    absl::StatusOr<CountedPtr<Accumulator>> found =
        InputAccumulator(context, context.output_type(kIsSparse ? 1 : 0), kIsSparse);
    if (!found.ok()) return done(found.status());
    const absl::StatusOr<int64_t> required = Required(context);
    if (!required.ok()) return done(required.status());
    Accumulator& accumulator = **found;
    accumulator.Take(*required, context.run().cancellation,
                     [&context, owner = *std::move(found), done = std::move(done)](absl::Status status, GradientSum sum,
                                                                                   int64_t count) mutable {
                       if (status.ok()) status = SetOutputs(context, owner->spec(), sum, count);
                       done(std::move(status));
                     });
  }

 private:
  static absl::StatusOr<int64_t> Required(const KernelContext& context) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t required, ReadIndexScalar(context, 1, "num_required"));
    if (required > 0) return required;
    return ValueError(1, "num_required", required, "1 or more");
  }

  static absl::Status SetOutputs(KernelContext& context, const AccumulatorSpec& spec, GradientSum& sum, int64_t count) {
    if (spec.is_mean) SLUICE_RETURN_IF_ERROR(sum.Average(count, kIsSparse, context.allocator()));
    if (!kIsSparse) {
      context.SetOutput(0, std::move(sum.values));
      return absl::OkStatus();
    }
    const int64_t num_rows = static_cast<int64_t>(sum.indices.size());
    SLUICE_ASSIGN_OR_RETURN(Tensor* const indices, context.AllocateOutput(0, Shape::Of({num_rows})));
    std::copy(sum.indices.begin(), sum.indices.end(), indices->flat<int64_t>().begin());
    SLUICE_RETURN_IF_ERROR(SetWholeShape(context, spec.shape, sum.values.shape()));
    context.SetOutput(1, std::move(sum.values));
    return absl::OkStatus();
  }
};

absl::Status SetGlobalStep(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Accumulator> accumulator, LookupNamed<Accumulator>(context));
  SLUICE_ASSIGN_OR_RETURN(const int64_t step, ReadIndexScalar(context, 1, "new_global_step"));
  accumulator->SetGlobalStep(step);
  return absl::OkStatus();
}

absl::Status NumAccumulated(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Accumulator> accumulator, LookupNamed<Accumulator>(context));
  const int64_t most = std::numeric_limits<int32_t>::max();
  context.SetScalar(0, static_cast<int32_t>(std::min(accumulator->num_accumulated(), most)));
  return absl::OkStatus();
}

using AccumulatorKernel = NamedResourceKernel<Accumulator, AccumulatorSpec>;

constexpr KernelRow kRows[] = {
    KernelRow("ConditionalAccumulator", &New<AccumulatorKernel>).Types("dtype", kSummed),
    KernelRow("ResourceConditionalAccumulator", &New<AccumulatorKernel>).Types("dtype", kSummed),
    KernelRow("SparseConditionalAccumulator", &New<AccumulatorKernel>).Types("dtype", kSummed),
    KernelRow("AccumulatorApplyGradient", &Call<ApplyGradient>).Types("dtype", kSummed),
    KernelRow("ResourceAccumulatorApplyGradient", &Call<ApplyGradient>).Types("dtype", kSummed),
    KernelRow("SparseAccumulatorApplyGradient", FromAttr<SparseApplyGradientKernel, bool>("has_known_shape"))
        .Types("dtype", kSummed),
    KernelRow("AccumulatorTakeGradient", &New<TakeGradientKernel<false>>).Types("dtype", kSummed),
    KernelRow("ResourceAccumulatorTakeGradient", &New<TakeGradientKernel<false>>).Types("dtype", kSummed),
    KernelRow("SparseAccumulatorTakeGradient", &New<TakeGradientKernel<true>>).Types("dtype", kSummed),
    KernelRow("AccumulatorSetGlobalStep", &Call<SetGlobalStep>).Cheap(),
    KernelRow("ResourceAccumulatorSetGlobalStep", &Call<SetGlobalStep>).Cheap(),
    KernelRow("AccumulatorNumAccumulated", &Call<NumAccumulated>).Cheap(),
    KernelRow("ResourceAccumulatorNumAccumulated", &Call<NumAccumulated>).Cheap(),
};

}  // namespace

absl::Span<const KernelRow> AccumulatorKernels() { return kRows; }

}  // namespace sluice
