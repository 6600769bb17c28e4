#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/mirror_mode.h"
#include "kernels/array/strided_copy.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// How much comes before and after each axis, and the shape that makes.
struct Padding {
  IndexVector before, after;
  Shape shape;
};

absl::StatusOr<Padding> ReadPadding(const KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  const Tensor& paddings = context.input(1);
  if (paddings.rank() != 2 || paddings.dim(0) != shape.rank() || paddings.dim(1) != 2) {
    return ShapeError(1, "paddings", paddings.shape(),
                      absl::StrCat("[", shape.rank(), ",2] for shape ", shape.ToString()));
  }
  Padding padding;
  IndexVector dims;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t before = IndexAt(paddings, 2 * axis);
    const int64_t after = IndexAt(paddings, 2 * axis + 1);
    if (before < 0 || after < 0) return ValueError(1, "paddings", absl::StrCat(before, " and ", after), "0 or more");
    int64_t size;
    if (!CheckedAdd(shape.dim(axis), before, &size) || !CheckedAdd(size, after, &size)) {
      return Error(ErrorCode::kOpTooLarge).Input(1, "paddings").Found(absl::StrCat(before, " and ", after));
    }
    padding.before.push_back(before);
    padding.after.push_back(after);
    dims.push_back(size);
  }
  absl::StatusOr<Shape> padded = MakeShape(dims);
  if (!padded.ok()) {  // TensorFlow tries to get the memory.
    return Error(ErrorCode::kOutOfMemory)
        .Input(1, "paddings")
        .Found(absl::StrCat("[", absl::StrJoin(dims, ","), "]"))
        .Text("no memory holds a tensor of the padded shape");
  }
  padding.shape = *std::move(padded);
  return padding;
}

// Loops over the whole of a tensor of shape `inner` that stands inside one of shape `whole`.
CopyAxes InsideAxes(const Shape& inner, const Shape& whole) {
  const IndexVector to = RowMajorStrides(whole);
  const IndexVector from = RowMajorStrides(inner);
  CopyAxes axes(to.size());
  for (size_t axis = 0; axis < to.size(); ++axis) axes[axis] = {inner.dims()[axis], to[axis], from[axis]};
  return axes;
}

int64_t InsideOffset(const Padding& padding) {
  const IndexVector strides = RowMajorStrides(padding.shape);
  int64_t offset = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis) offset += padding.before[axis] * strides[axis];
  return offset;
}

// --- Pad, PadV2 --------------------------------------------------------------------------------------------------

absl::Status PadWith(KernelContext& context, const Tensor* value) {
  SLUICE_ASSIGN_OR_RETURN(const Padding padding, ReadPadding(context));
  const Tensor& input = context.input(0);
  if (padding.shape == input.shape()) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, padding.shape));
  if (value != nullptr) {
    FillElements(context, *output, *value);
  } else if (IsTrivial(output->dtype())) {
    std::memset(output->mutable_raw_data(), 0, output->total_bytes());
  }
  if (input.num_elements() == 0) return absl::OkStatus();
  CopyStrided(context, InsideAxes(input.shape(), padding.shape), *output, InsideOffset(padding), input, 0);
  return absl::OkStatus();
}

absl::Status ComputePad(KernelContext& context) { return PadWith(context, nullptr); }

absl::Status ComputePadV2(KernelContext& context) {
  const Tensor& value = context.input(2);
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, 2, "constant_values"));
  return PadWith(context, &value);
}

// --- MirrorPad ---------------------------------------------------------------------------------------------------

// Pads with the mirror image of what is inside: REFLECT leaves out the edge itself, SYMMETRIC repeats it.
class MirrorPadKernel final : public Kernel {
 public:
  explicit MirrorPadKernel(int64_t skipped) : skipped_(skipped) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t skipped, ReadMirrorMode(construction));
    return std::make_unique<MirrorPadKernel>(skipped);
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Padding padding, ReadPadding(context));
    const Tensor& input = context.input(0);
    for (int axis = 0; axis < input.rank(); ++axis) {
      const int64_t limit = input.dim(axis) - skipped_;
      const size_t i = static_cast<size_t>(axis);
      if (padding.before[i] <= limit && padding.after[i] <= limit) continue;
      return ValueError(1, "paddings",
                        absl::StrCat(padding.before[i], " and ", padding.after[i], " for dimension ", axis),
                        absl::StrCat("at most ", limit));
    }
    if (padding.shape == input.shape()) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, padding.shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    CopyStrided(context, InsideAxes(input.shape(), padding.shape), *output, InsideOffset(padding), input, 0);
    for (int axis = input.rank() - 1; axis >= 0; --axis) MirrorAxis(context, padding, input.shape(), axis, *output);
    return absl::OkStatus();
  }

 private:
  // Fills what is before and after `axis` from what lies between: axes after it are whole already, those before it
  // only inside.
  void MirrorAxis(const KernelContext& context, const Padding& padding, const Shape& inner, int axis,
                  Tensor& output) const {
    const IndexVector strides = RowMajorStrides(padding.shape);
    CopyAxes axes(strides.size());
    int64_t first = 0;
    for (size_t i = 0; i < strides.size(); ++i) {
      const bool is_inside = static_cast<int>(i) < axis;
      axes[i] = {is_inside ? inner.dims()[i] : padding.shape.dims()[i], strides[i], strides[i]};
      if (is_inside) first += padding.before[i] * strides[i];
    }
    const size_t at = static_cast<size_t>(axis);
    const int64_t stride = strides[at];
    const int64_t begin = padding.before[at];
    const int64_t end = begin + inner.dims()[at];
    axes[at] = {begin, -stride, stride};
    CopyStrided(context, axes, output, first + (begin - 1) * stride, output, first + (begin + skipped_) * stride);
    axes[at] = {padding.after[at], stride, -stride};
    CopyStrided(context, axes, output, first + end * stride, output, first + (end - 1 - skipped_) * stride);
  }

  const int64_t skipped_;  // Elements at the edge that have no image.
};

constexpr KernelRow kRows[] = {
    KernelRow("Pad", &Call<ComputePad>),
    KernelRow("PadV2", &Call<ComputePadV2>),
    KernelRow("MirrorPad", &New<MirrorPadKernel>),
};

}  // namespace

absl::Span<const KernelRow> PadKernels() { return kRows; }

}  // namespace sluice
