#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/strided_copy.h"
#include "kernels/input_error.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// --- Tile --------------------------------------------------------------------------------------------------------

// Sizes of the result; kOpTooLarge when one of them overflows.
absl::StatusOr<IndexVector> TiledSizes(const Shape& shape, const IndexVector& multiples) {
  IndexVector dims(shape.dims().begin(), shape.dims().end());
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (multiples[axis] < 0) return ValueError(1, "multiples", multiples[axis], "0 or more");
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
    return ShapeError(1, "multiples", absl::StrCat(multiples.size(), " elements"),
                      absl::StrCat(shape.rank(), ", one per dimension of ", shape.ToString()));
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
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 1, "shape", ListRank::kVector));
  const int extra = shape.rank() - input.rank();
  bool fits = extra >= 0;
  for (int axis = 0; fits && axis < input.rank(); ++axis) {
    fits = input.dim(axis) == 1 || input.dim(axis) == shape.dim(axis + extra);
  }
  if (!fits) {
    return ShapesError(input.shape().ToString(), absl::StrCat("a shape that broadcasts to ", shape.ToString()));
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

constexpr KernelRow kRows[] = {
    KernelRow("Tile", &Call<ComputeTile>),
    KernelRow("BroadcastTo", &Call<ComputeBroadcastTo>),
};

}  // namespace

absl::Span<const KernelRow> RepeatKernels() { return kRows; }

}  // namespace sluice
