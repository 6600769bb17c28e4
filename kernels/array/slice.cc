#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/shared_rows.h"
#include "kernels/array/strided_copy.h"
#include "kernels/array/strided_region.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// Output 0 becomes the region of input 0: the input itself, a part of its buffer, or a copy.
absl::Status TakeRegion(KernelContext& context, const StridedRegion& region) {
  const Tensor& input = context.input(0);
  if (region.IsWhole(input.shape())) {
    SLUICE_ASSIGN_OR_RETURN(Tensor whole, context.TakeInput(0).Reshaped(region.shape));
    context.SetOutput(0, std::move(whole));
    return absl::OkStatus();
  }
  const int64_t offset = region.Offset(input.shape());
  const int64_t count = region.shape.num_elements();
  bool is_run = !region.ranges.empty() && region.ranges[0].stride == 1;
  for (size_t axis = 1; is_run && axis < region.ranges.size(); ++axis) {
    is_run = region.ranges[axis].stride == 1 && region.ranges[axis].size == input.shape().dims()[axis];
  }
  if (is_run && SharesWell(input, offset, count)) {
    SLUICE_ASSIGN_OR_RETURN(Tensor part, ShareElements(input, offset, region.shape));
    context.SetOutput(0, std::move(part));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, region.shape));
  CopyStrided(context, region.Axes(input.shape(), /*to_slice=*/true), *output, 0, input, offset);
  return absl::OkStatus();
}

// --- Slice -------------------------------------------------------------------------------------------------------

absl::Status ComputeSlice(KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  SLUICE_ASSIGN_OR_RETURN(const IndexVector begin, ReadIndexVector(context, 1, "begin"));
  SLUICE_ASSIGN_OR_RETURN(IndexVector size, ReadIndexVector(context, 2, "size"));
  if (begin.size() != size.size() || static_cast<int>(begin.size()) != shape.rank()) {
    return ShapesError(absl::StrCat("begin of ", begin.size(), " and size of ", size.size(), " elements"),
                       absl::StrCat(shape.rank(), " each, for shape ", shape.ToString()));
  }
  StridedRegion region;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t first = begin[static_cast<size_t>(axis)];
    int64_t& count = size[static_cast<size_t>(axis)];
    const int64_t whole = shape.dim(axis);
    if (first < 0 || first > whole) {
      return ValueError(1, "begin", absl::StrCat(first, " in dimension ", axis), absl::StrCat("0 to ", whole));
    }
    if (count == -1) count = whole - first;
    if (count < 0 || count > whole - first) {
      return ValueError(2, "size", absl::StrCat(count, " in dimension ", axis), absl::StrCat("-1 to ", whole - first));
    }
    region.ranges.push_back({first, 1, count});
  }
  SLUICE_ASSIGN_OR_RETURN(region.shape, MakeShape(size));
  return TakeRegion(context, region);
}

// --- StridedSlice and what undoes it -----------------------------------------------------------------------------

// What begin, end, strides and masks take of input 0. Thread-safe.
class StridedSliceKernel : public Kernel {
 public:
  explicit StridedSliceKernel(const SliceMasks& masks) : masks_(masks) {}
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const StridedRegion region,
                            ReadStridedRegion(context, 1, masks_, context.input(0).shape()));
    return TakeRegion(context, region);
  }

 private:
  const SliceMasks masks_;
};

// Zeros of shape input 0 with input 4 where the slice was taken.
class StridedSliceGradKernel : public Kernel {
 public:
  explicit StridedSliceGradKernel(const SliceMasks& masks) : masks_(masks) {}
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Shape whole, ReadShapeInput(context, 0, "shape"));
    SLUICE_ASSIGN_OR_RETURN(const StridedRegion region, ReadStridedRegion(context, 1, masks_, whole));
    const Tensor& dy = context.input(4);
    if (dy.shape() != region.shape) {
      return ShapeError(4, "dy", dy.shape(), absl::StrCat(region.shape.ToString(), ", the shape of the slice"));
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, whole));
    if (IsTrivial(output->dtype())) std::memset(output->mutable_raw_data(), 0, output->total_bytes());
    CopyStrided(context, region.Axes(whole, /*to_slice=*/false), *output, region.Offset(whole), dy, 0);
    return absl::OkStatus();
  }

 private:
  const SliceMasks masks_;
};

// Input 0 with input 4, broadcast, where the slice would be taken; in place if this kernel is the only holder.
class StridedSliceUpdateKernel : public Kernel {
 public:
  explicit StridedSliceUpdateKernel(const SliceMasks& masks) : masks_(masks) {}
  absl::Status Compute(KernelContext& context) const override {
    const Shape whole = context.input(0).shape();
    SLUICE_ASSIGN_OR_RETURN(const StridedRegion region, ReadStridedRegion(context, 1, masks_, whole));
    const Tensor& value = context.input(4);
    SLUICE_ASSIGN_OR_RETURN(const CopyAxes axes, region.AxesOfUpdate(whole, value.shape()));
    const bool in_place = context.InputIsWritable(0);
    Tensor result = context.TakeInput(0);
    if (!in_place) {
      const Tensor source = std::move(result);
      SLUICE_ASSIGN_OR_RETURN(result, Tensor::Make(source.dtype(), whole, context.allocator()));
      const CopyAxis all = {whole.num_elements(), 1, 1};
      CopyStrided(context, {&all, 1}, result, 0, source, 0);
    }
    if (region.shape.num_elements() > 0) CopyStrided(context, axes, result, region.Offset(whole), value, 0);
    context.SetOutput(0, std::move(result));
    return absl::OkStatus();
  }

 private:
  const SliceMasks masks_;
};

constexpr KernelRow kRows[] = {
    KernelRow("Slice", &Call<ComputeSlice>),
    KernelRow("StridedSlice", &NewWith<StridedSliceKernel, SliceMasks::Read>),
    KernelRow("StridedSliceGrad", &NewWith<StridedSliceGradKernel, SliceMasks::Read>),
    KernelRow("TensorStridedSliceUpdate", &NewWith<StridedSliceUpdateKernel, SliceMasks::Read>),
};

}  // namespace

absl::Span<const KernelRow> SliceKernels() { return kRows; }

}  // namespace sluice
