#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/shared_rows.h"
#include "kernels/array/strided_copy.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// Output `i` becomes the part of `input` that begins at `begin` on `axis` and has `size` there; under shape `shape`.
absl::Status CutPart(KernelContext& context, const Tensor& input, int axis, int64_t begin, int64_t size, int i,
                     const Shape& shape) {
  const int64_t rows = SizeOfAxes(input.shape(), 0, axis);
  const int64_t inner = SizeOfAxes(input.shape(), axis + 1, input.rank());
  if (axis == 0 && SharesWell(input, begin * inner, size * inner)) {
    SLUICE_ASSIGN_OR_RETURN(Tensor part, ShareElements(input, begin * inner, shape));
    context.SetOutput(i, std::move(part));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, shape));
  const CopyAxis axes[] = {{rows, size * inner, input.dim(axis) * inner}, {size * inner, 1, 1}};
  CopyStrided(context, axes, *output, 0, input, begin * inner);
  return absl::OkStatus();
}

// Cuts input `value_input` along `axis` into parts of `sizes`, one per output.
absl::Status CutIntoParts(KernelContext& context, int value_input, int axis, absl::Span<const int64_t> sizes) {
  if (context.num_outputs() == 1) {
    context.SetOutput(0, context.TakeInput(value_input));
    return absl::OkStatus();
  }
  const Tensor input = context.input(value_input);
  IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
  int64_t begin = 0;
  for (int i = 0; i < context.num_outputs(); ++i) {
    const int64_t size = sizes[static_cast<size_t>(i)];
    dims[static_cast<size_t>(axis)] = size;
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_RETURN_IF_ERROR(CutPart(context, input, axis, begin, size, i, shape));
    begin += size;
  }
  return absl::OkStatus();
}

// --- Split -------------------------------------------------------------------------------------------------------

absl::Status ComputeSplit(KernelContext& context) {
  const Shape& shape = context.input(1).shape();
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, 0, "split_dim"));
  SLUICE_ASSIGN_OR_RETURN(const int axis, ReadAxis(context, 0, "split_dim", shape.rank()));
  const int64_t count = context.num_outputs();
  if (count < 1) return AttrError("num_split", "0", "1 or more");
  if (shape.dim(axis) % count != 0) {
    return ShapeError(1, "value", shape, absl::StrCat("dimension ", axis, " to be a multiple of ", count));
  }
  const IndexVector sizes(static_cast<size_t>(count), shape.dim(axis) / count);
  return CutIntoParts(context, 1, axis, sizes);
}

// --- SplitV ------------------------------------------------------------------------------------------------------

// Replaces a -1 of `sizes` by what the others leave of `whole`; all together must make it up.
absl::Status ResolveSizes(int64_t whole, IndexVector* sizes) {
  int64_t* unknown = nullptr;
  int64_t sum = 0;
  for (int64_t& size : *sizes) {
    if (size == -1 && unknown == nullptr) {
      unknown = &size;
    } else if (size < 0 || !CheckedAdd(sum, size, &sum)) {
      return ValueError(1, "size_splits", size, "sizes of 0 or more, or -1 once");
    }
  }
  if (unknown == nullptr ? sum != whole : sum > whole) {
    return ValueError(1, "size_splits", absl::StrCat("sizes that add up to ", sum),
                      absl::StrCat(unknown == nullptr ? "" : "at most ", whole));
  }
  if (unknown != nullptr) *unknown = whole - sum;
  return absl::OkStatus();
}

absl::Status ComputeSplitV(KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  const Tensor& splits = context.input(1);
  if (splits.num_elements() != context.num_outputs() || splits.rank() != 1) {
    return ShapeError(1, "size_splits", splits.shape(), absl::StrCat("a vector of ", context.num_outputs()));
  }
  SLUICE_ASSIGN_OR_RETURN(const int axis, ReadAxis(context, 2, "split_dim", shape.rank()));
  SLUICE_ASSIGN_OR_RETURN(IndexVector sizes, ReadIndexVector(context, 1, "size_splits", ListRank::kAny));
  if (sizes.size() == 1 && sizes[0] == -1) {  // TensorFlow wants the size itself here.
    return ValueError(1, "size_splits", "-1", absl::StrCat(shape.dim(axis)));
  }
  SLUICE_RETURN_IF_ERROR(ResolveSizes(shape.dim(axis), &sizes));
  return CutIntoParts(context, 0, axis, sizes);
}

// --- Unpack ------------------------------------------------------------------------------------------------------

// The rows along attr `axis`, one per output.
class UnpackKernel final : public Kernel {
 public:
  explicit UnpackKernel(int64_t axis) : axis_(axis) {}
  absl::Status Compute(KernelContext& context) const override {
    const Tensor input = context.input(0);
    const int rank = input.rank();
    if (axis_ < -rank || axis_ >= rank) {
      return AttrError("axis", axis_, absl::StrCat("an axis of shape ", input.shape().ToString()));
    }
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
    if (input.dim(axis) != context.num_outputs()) {
      return ShapeError(0, "", input.shape(), absl::StrCat("size ", context.num_outputs(), " in dimension ", axis));
    }
    IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
    dims.erase(dims.begin() + axis);
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    for (int i = 0; i < context.num_outputs(); ++i) {
      SLUICE_RETURN_IF_ERROR(CutPart(context, input, axis, i, 1, i, shape));
    }
    return absl::OkStatus();
  }

 private:
  const int64_t axis_;
};

constexpr KernelRow kRows[] = {
    KernelRow("Split", &Call<ComputeSplit>),
    KernelRow("SplitV", &Call<ComputeSplitV>),
    KernelRow("Unpack", FromAttr<UnpackKernel, int64_t>("axis")),
};

}  // namespace

absl::Span<const KernelRow> SplitKernels() { return kRows; }

}  // namespace sluice
