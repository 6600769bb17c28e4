#include "kernels/array/strided_region.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

// Masks have 32 bits, the highest is a sign.
constexpr int64_t kMaxSpecs = 31;

bool HasBit(uint32_t mask, int64_t spec) { return (mask >> spec & 1) != 0; }

// The three inputs, once they are known to be vectors of one size.
struct Specs {
  const Tensor& begin;
  const Tensor& end;
  const Tensor& strides;
  int first;  // Number of the input `begin`.
  int64_t size;
};

absl::Status CheckSpecs(const Specs& specs, const SliceMasks& masks) {
  const Tensor* const inputs[] = {&specs.begin, &specs.end, &specs.strides};
  constexpr absl::string_view kNames[] = {"begin", "end", "strides"};
  for (int i = 0; i < 3; ++i) {
    if (inputs[i]->rank() == 1 && inputs[i]->num_elements() == specs.size && specs.size <= kMaxSpecs) continue;
    return ShapeError(specs.first + i, kNames[i], inputs[i]->shape(),
                      "begin, end and strides to be vectors of one size, below 32");
  }
  if ((masks.ellipsis & (masks.ellipsis - 1)) != 0) {
    return Error(ErrorCode::kOpAttr).Attr("ellipsis_mask").Text("names more than one ellipsis");
  }
  return absl::OkStatus();
}

// A bound of a range, moved into a dimension of `size` elements. `is_end` says which one.
int64_t Clamp(int64_t bound, bool masked, bool is_end, int64_t stride, int64_t size) {
  const int64_t low = stride > 0 ? 0 : -1;
  const int64_t high = stride > 0 ? size : size - 1;
  if (masked) return is_end == (stride > 0) ? high : low;
  if (bound < 0) bound = bound < -size ? low : bound + size;
  return std::clamp(bound, low, high);
}

// The elements that spec `i` selects from a dimension of `size` elements.
absl::StatusOr<SliceRange> RangeOf(const Specs& specs, const SliceMasks& masks, int64_t i, int64_t size) {
  const int64_t stride = IndexAt(specs.strides, i);
  if (stride == 0) {
    return Error(ErrorCode::kOpValue).Input(specs.first + 2, "strides").Found(absl::StrCat("stride ", i, " is 0"));
  }
  const int64_t begin = Clamp(IndexAt(specs.begin, i), HasBit(masks.begin, i), false, stride, size);
  const int64_t end = Clamp(IndexAt(specs.end, i), HasBit(masks.end, i), true, stride, size);
  const int64_t length = end - begin;
  if (length == 0 || (length < 0) != (stride < 0)) return SliceRange{0, 1, 0};
  return SliceRange{begin, stride, length / stride + (length % stride != 0 ? 1 : 0)};
}

// The one element that spec `i` takes of dimension `axis`.
absl::StatusOr<SliceRange> IndexOf(const Specs& specs, int64_t i, int axis, int64_t size) {
  if (IndexAt(specs.strides, i) <= 0) {
    return ValueError(specs.first + 2, "strides",
                      absl::StrCat("stride ", IndexAt(specs.strides, i), " for a single index"), "1");
  }
  const int64_t index = IndexAt(specs.begin, i);
  if (index < -size || index >= size) {
    return ValueError(specs.first, "begin", absl::StrCat("index ", index),
                      absl::StrCat("an index of dimension ", axis, ", whose size is ", size));
  }
  return SliceRange{index < 0 ? index + size : index, 1, 1};
}

// The first dimension behind the ellipsis at spec `at`.
int EllipsisEnd(const Specs& specs, const SliceMasks& masks, int64_t at, int rank) {
  int64_t behind = 0;
  for (int64_t i = at + 1; i < specs.size; ++i) behind += HasBit(masks.new_axis, i) ? 0 : 1;
  return static_cast<int>(std::max<int64_t>(rank - behind, 0));
}

}  // namespace

absl::StatusOr<SliceMasks> SliceMasks::Read(const KernelConstruction& construction) {
  SliceMasks masks;
  const auto read = [&construction](absl::string_view name, uint32_t* mask) -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const int64_t value, construction.Get<int64_t>(name));
    *mask = static_cast<uint32_t>(value);
    return absl::OkStatus();
  };
  SLUICE_RETURN_IF_ERROR(read("begin_mask", &masks.begin));
  SLUICE_RETURN_IF_ERROR(read("end_mask", &masks.end));
  SLUICE_RETURN_IF_ERROR(read("ellipsis_mask", &masks.ellipsis));
  SLUICE_RETURN_IF_ERROR(read("new_axis_mask", &masks.new_axis));
  SLUICE_RETURN_IF_ERROR(read("shrink_axis_mask", &masks.shrink));
  return masks;
}

bool StridedRegion::IsWhole(const Shape& whole) const {
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    const SliceRange& range = ranges[axis];
    if (range.size != whole.dims()[axis] || (range.stride != 1 && range.size > 1)) return false;
  }
  return true;
}

int64_t StridedRegion::Offset(const Shape& whole) const {
  if (shape.num_elements() == 0) return 0;
  const IndexVector strides = RowMajorStrides(whole);
  int64_t offset = 0;
  for (size_t axis = 0; axis < ranges.size(); ++axis) offset += ranges[axis].begin * strides[axis];
  return offset;
}

CopyAxes StridedRegion::Axes(const Shape& whole, bool to_slice) const {
  const IndexVector strides = RowMajorStrides(whole);
  CopyAxes axes(ranges.size());
  int64_t packed = 1;
  for (size_t axis = ranges.size(); axis-- > 0;) {
    const int64_t stride = ranges[axis].size > 1 ? ranges[axis].stride * strides[axis] : strides[axis];
    axes[axis] = to_slice ? CopyAxis{ranges[axis].size, packed, stride} : CopyAxis{ranges[axis].size, stride, packed};
    packed *= ranges[axis].size;
  }
  return axes;
}

absl::StatusOr<CopyAxes> StridedRegion::AxesOfUpdate(const Shape& whole, const Shape& value) const {
  CopyAxes axes = Axes(whole, /*to_slice=*/false);
  if (value == shape || shape.num_elements() == 0) return axes;
  const int lead = shape.rank() - value.rank();  // Dimension d of the value meets dimension d + lead of the slice.
  bool fits = true;
  for (int d = 0; d < value.rank(); ++d) {
    fits &= value.dim(d) == 1 || (d + lead >= 0 && value.dim(d) == shape.dim(d + lead));
  }
  if (!fits) {
    return Error(ErrorCode::kOpShape)
        .Found(absl::StrCat("value ", value.ToString()))
        .Expected(absl::StrCat("what broadcasts to ", shape.ToString(), ", the shape of the slice"));
  }
  const IndexVector strides = RowMajorStrides(value);
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const int d = kept[axis] < lead ? -1 : kept[axis] - lead;
    axes[axis].from = d < 0 || value.dim(d) == 1 ? 0 : strides[static_cast<size_t>(d)];
  }
  return axes;
}

absl::StatusOr<StridedRegion> ReadStridedRegion(const KernelContext& context, int first, const SliceMasks& masks,
                                                const Shape& whole) {
  const Tensor& begin = context.input(first);
  const Specs specs{begin, context.input(first + 1), context.input(first + 2), first, begin.num_elements()};
  SLUICE_RETURN_IF_ERROR(CheckSpecs(specs, masks));
  StridedRegion region;
  IndexVector dims;
  int axis = 0;
  const auto take_all_before = [&](int end) {
    for (; axis < end; ++axis) {
      region.ranges.push_back({0, 1, whole.dim(axis)});
      region.kept.push_back(static_cast<int>(dims.size()));
      dims.push_back(whole.dim(axis));
    }
  };
  for (int64_t i = 0; i < specs.size; ++i) {
    if (HasBit(masks.ellipsis, i)) {
      take_all_before(EllipsisEnd(specs, masks, i, whole.rank()));
    } else if (HasBit(masks.new_axis, i)) {
      dims.push_back(1);
    } else if (axis >= whole.rank()) {
      return ShapeError(first, "begin", absl::StrCat(specs.size, " specs"),
                        absl::StrCat("no more than shape ", whole.ToString(), " has dimensions"));
    } else {
      const bool shrinks = HasBit(masks.shrink, i);
      SLUICE_ASSIGN_OR_RETURN(const SliceRange range, shrinks ? IndexOf(specs, i, axis, whole.dim(axis))
                                                              : RangeOf(specs, masks, i, whole.dim(axis)));
      region.ranges.push_back(range);
      region.kept.push_back(shrinks ? -1 : static_cast<int>(dims.size()));
      if (!shrinks) dims.push_back(range.size);
      ++axis;
    }
  }
  take_all_before(whole.rank());
  SLUICE_ASSIGN_OR_RETURN(region.shape, MakeShape(dims));
  return region;
}

}  // namespace sluice
