#include "kernels/array/repeat.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "kernels/array/function_kernel.h"
#include "kernels/array/index_values.h"
#include "kernels/array/strided_copy.h"

namespace sluice {
namespace {

// --- Tile --------------------------------------------------------------------------------------------------------

// Sizes of the result; kOpTooLarge when one of them overflows.
absl::StatusOr<IndexVector> TiledSizes(const Shape& shape, const IndexVector& multiples) {
  IndexVector dims(shape.dims().begin(), shape.dims().end());
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (multiples[axis] < 0) {
      return Error(ErrorCode::kOpValue)
          .Input(1, "multiples")
          .Found(absl::StrCat(multiples[axis]))
          .Expected("0 or more");
    }
    if (!CheckedMul(dims[axis], multiples[axis], &dims[axis])) {
      return Error(ErrorCode::kOpTooLarge)
          .Input(1, "multiples")
          .Found(absl::StrCat(multiples[axis], " times shape ", shape.ToString()));
    }
  }
  return dims;
}

absl::Status ComputeTile(KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  SLUICE_ASSIGN_OR_RETURN(const IndexVector multiples, ReadIndexVector(context, 1, "multiples"));
  if (static_cast<int>(multiples.size()) != shape.rank()) {
    return Error(ErrorCode::kOpShape)
        .Input(1, "multiples")
        .Found(absl::StrCat(multiples.size(), " elements"))
        .Expected(absl::StrCat(shape.rank(), ", one per dimension of ", shape.ToString()));
  }
  SLUICE_ASSIGN_OR_RETURN(const IndexVector dims, TiledSizes(shape, multiples));
  SLUICE_ASSIGN_OR_RETURN(const Shape tiled, MakeShape(dims));
  if (tiled == shape) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, tiled));
  const IndexVector to = RowMajorStrides(tiled);
  const IndexVector from = RowMajorStrides(shape);
  CopyAxes axes;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    axes.push_back({multiples[axis], to[axis] * shape.dims()[axis], 0});
    axes.push_back({shape.dims()[axis], to[axis], from[axis]});
  }
  CopyStrided(context, axes, *output, 0, context.input(0), 0);
  return absl::OkStatus();
}

// --- BroadcastTo -------------------------------------------------------------------------------------------------

absl::Status ComputeBroadcastTo(KernelContext& context) {
  const Tensor& input = context.input(0);
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 1, "shape", ListRank::kScalarOrVector));
  const int extra = shape.rank() - input.rank();
  bool fits = extra >= 0;
  for (int axis = 0; fits && axis < input.rank(); ++axis) {
    fits = input.dim(axis) == 1 || input.dim(axis) == shape.dim(axis + extra);
  }
  if (!fits) {
    return Error(ErrorCode::kOpShapes)
        .Found(input.shape().ToString())
        .Expected(absl::StrCat("a shape that broadcasts to ", shape.ToString()));
  }
  if (shape == input.shape()) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  const IndexVector to = RowMajorStrides(shape);
  const IndexVector from = RowMajorStrides(input.shape());
  CopyAxes axes;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool repeats = axis < extra || input.dim(axis - extra) == 1;
    axes.push_back(
        {shape.dim(axis), to[static_cast<size_t>(axis)], repeats ? 0 : from[static_cast<size_t>(axis - extra)]});
  }
  CopyStrided(context, axes, *output, 0, input, 0);
  return absl::OkStatus();
}

// --- BroadcastArgs, BroadcastGradientArgs ------------------------------------------------------------------------

// Two shapes of one rank, the shorter one filled up with ones.
struct ShapePair {
  IndexVector a, b;
};

absl::StatusOr<ShapePair> ReadShapePair(const KernelContext& context) {
  ShapePair pair;
  SLUICE_ASSIGN_OR_RETURN(pair.a, ReadIndexVector(context, 0, "s0"));
  SLUICE_ASSIGN_OR_RETURN(pair.b, ReadIndexVector(context, 1, "s1"));
  const size_t rank = std::max(pair.a.size(), pair.b.size());
  pair.a.insert(pair.a.begin(), rank - pair.a.size(), 1);
  pair.b.insert(pair.b.begin(), rank - pair.b.size(), 1);
  for (size_t axis = 0; axis < rank; ++axis) {
    if (pair.a[axis] == pair.b[axis] || pair.a[axis] == 1 || pair.b[axis] == 1) continue;
    return Error(ErrorCode::kOpShapes)
        .Found(absl::StrCat("sizes ", pair.a[axis], " and ", pair.b[axis]))
        .Expected("sizes that broadcast");
  }
  return pair;
}

// Output `i` becomes the vector `values`, of its declared dtype.
absl::Status SetIndexVector(KernelContext& context, int i, const IndexVector& values) {
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, Shape::Of({static_cast<int64_t>(values.size())})));
  if (output->dtype() == DType::kInt64) {
    std::copy(values.begin(), values.end(), output->flat<int64_t>().begin());
  } else {
    std::transform(values.begin(), values.end(), output->flat<int32_t>().begin(),
                   [](int64_t value) { return static_cast<int32_t>(value); });
  }
  return absl::OkStatus();
}

absl::Status ComputeBroadcastArgs(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const ShapePair pair, ReadShapePair(context));
  IndexVector result(pair.a);
  for (size_t axis = 0; axis < result.size(); ++axis) {
    if (pair.a[axis] == 1) result[axis] = pair.b[axis];
  }
  return SetIndexVector(context, 0, result);
}

// The axes over which the gradient of each of two broadcast inputs is summed up.
absl::Status ComputeBroadcastGradientArgs(KernelContext& context) {
  const size_t rank0 = static_cast<size_t>(context.input(0).num_elements());
  const size_t rank1 = static_cast<size_t>(context.input(1).num_elements());
  SLUICE_ASSIGN_OR_RETURN(const ShapePair pair, ReadShapePair(context));
  const size_t rank = pair.a.size();
  IndexVector sum0, sum1;
  for (size_t axis = 0; axis < rank; ++axis) {
    const bool both_one = pair.a[axis] == 1 && pair.b[axis] == 1;
    const int64_t number = static_cast<int64_t>(axis);
    if (axis < rank - rank0 || both_one || (pair.a[axis] == 1 && pair.b[axis] != 1)) sum0.push_back(number);
    if (axis < rank - rank1 || both_one || (pair.b[axis] == 1 && pair.a[axis] != 1)) sum1.push_back(number);
  }
  if (pair.a == pair.b && rank0 == rank1) {
    sum0.clear();
    sum1.clear();
  }
  SLUICE_RETURN_IF_ERROR(SetIndexVector(context, 0, sum0));
  return SetIndexVector(context, 1, sum1);
}

constexpr KernelDef kKernels[] = {
    {"Tile", &MakeFunctionKernel<ComputeTile>},
    {"BroadcastTo", &MakeFunctionKernel<ComputeBroadcastTo>},
    {"BroadcastArgs", &MakeFunctionKernel<ComputeBroadcastArgs, CostHint::kCheap>},
    {"BroadcastGradientArgs", &MakeFunctionKernel<ComputeBroadcastGradientArgs, CostHint::kCheap>},
};

}  // namespace

absl::Span<const KernelDef> RepeatKernels() { return kKernels; }

}  // namespace sluice
