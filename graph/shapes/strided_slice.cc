#include "graph/shapes/strided_slice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// The specs as the node states them, one entry per element of begin, end and strides.
struct Spec {
  int size = 0;
  const ShapeValue* begin = nullptr;
  const ShapeValue* end = nullptr;
  const ShapeValue* strides = nullptr;
  uint64_t begin_mask = 0, end_mask = 0, ellipsis_mask = 0, new_axis_mask = 0, shrink_mask = 0;

  static int64_t At(const ShapeValue* values, int i) {
    return values != nullptr && static_cast<size_t>(i) < values->size() ? (*values)[static_cast<size_t>(i)]
                                                                        : kUnknownValue;
  }
  static bool Has(uint64_t mask, int i) { return (mask >> i & 1) != 0; }
};

// Masks have 32 bits.
constexpr int64_t kMaxSpecs = 31;

// False when the number of specs is not known.
bool ReadSpec(const InferenceContext& c, int first, Spec* spec) {
  const auto mask = [&c](absl::string_view name) { return static_cast<uint64_t>(c.Int(name)); };
  spec->begin_mask = mask("begin_mask");
  spec->end_mask = mask("end_mask");
  spec->ellipsis_mask = mask("ellipsis_mask");
  spec->new_axis_mask = mask("new_axis_mask");
  spec->shrink_mask = mask("shrink_axis_mask");
  spec->begin = c.value(first);
  spec->end = c.value(first + 1);
  spec->strides = c.value(first + 2);
  int64_t size = c.dim(first, 0);
  for (int i = 0; i < 3; ++i) size = EitherDim(size, c.dim(first + i, 0));
  if (size < 0 || size > kMaxSpecs) return false;
  spec->size = static_cast<int>(size);
  return true;
}

// A bound of the range, clamped to the dimension. `is_end` says which one.
int64_t Clamp(int64_t bound, bool masked, bool is_end, int64_t stride, int64_t size) {
  const int64_t low = stride > 0 ? 0 : -1;
  const int64_t high = stride > 0 ? size : size - 1;
  if (masked) return is_end == (stride > 0) ? high : low;
  if (bound < 0) bound = bound < -size ? low : bound + size;
  return std::max(low, std::min(high, bound));
}

// The elements that spec `i` selects from a dimension of `size` elements.
absl::Status ResolveRange(const InferenceContext& c, const Spec& spec, int i, int first, int64_t size, SliceAxis* out) {
  const int64_t stride = Spec::At(spec.strides, i);
  if (stride == 0) return c.ValueError(first + 2, absl::StrCat("stride ", i, " is 0"));
  out->stride = stride;
  const bool from_start = Spec::Has(spec.begin_mask, i), to_end = Spec::Has(spec.end_mask, i);
  const int64_t begin = Spec::At(spec.begin, i), end = Spec::At(spec.end, i);
  // All of it, whatever it is.
  if (size < 0 && stride == 1 && (from_start || begin == 0) && to_end) out->size = size;
  if (size < 0 || stride == kUnknownValue) return absl::OkStatus();
  if (begin != kUnknownValue || from_start) out->begin = Clamp(begin, from_start, false, stride, size);
  if (out->begin == kUnknownValue || (end == kUnknownValue && !to_end)) return absl::OkStatus();
  const int64_t length = Clamp(end, to_end, true, stride, size) - out->begin;
  if (length == 0 || (length < 0) != (stride < 0)) {
    out->size = 0;
  } else {
    out->size = length / stride + (length % stride != 0 ? 1 : 0);
  }
  return absl::OkStatus();
}

// The element that spec `i` selects if it is a single index.
absl::Status ResolveIndex(const InferenceContext& c, const Spec& spec, int i, int first, int64_t size, SliceAxis* out) {
  out->shrunk = true;
  out->size = 1;
  out->stride = 1;
  const int64_t stride = Spec::At(spec.strides, i);
  if (stride != kUnknownValue && stride <= 0) {
    return c.ValueError(first + 2, absl::StrCat("stride ", i, " belongs to a single index, only 1 is allowed"));
  }
  const int64_t index = Spec::At(spec.begin, i);
  if (index == kUnknownValue || size < 0) return absl::OkStatus();
  if (index < -size || index >= size) {
    return c.ValueError(first, absl::StrCat("index ", index, " is outside dimension ", out->axis, " of size ", size));
  }
  out->begin = index < 0 ? index + size : index;
  return absl::OkStatus();
}

SliceAxis WholeAxis(const PartialShape& shape, int axis) {
  SliceAxis whole;
  whole.axis = axis;
  whole.begin = 0;
  whole.stride = 1;
  whole.size = shape.dim(axis);
  return whole;
}

// How many dimensions the ellipsis at spec `at` stands for up to: the first dimension behind it.
int EllipsisEnd(const Spec& spec, int at, int rank) {
  int new_axes = 0;
  for (int i = at + 1; i < spec.size; ++i) new_axes += Spec::Has(spec.new_axis_mask, i) ? 1 : 0;
  return std::min(rank - (spec.size - at) + 1 + new_axes, rank);
}

}  // namespace

absl::Status ResolveStridedSlice(const InferenceContext& c, const PartialShape& shape, int first,
                                 std::vector<SliceAxis>* axes, bool* known) {
  *known = false;
  Spec spec;
  const bool sized = ReadSpec(c, first, &spec);
  if ((spec.ellipsis_mask & (spec.ellipsis_mask - 1)) != 0) {
    return c.AttrError("ellipsis_mask", "more than one ellipsis");
  }
  if (!sized || !shape.has_rank()) return absl::OkStatus();
  int axis = 0;
  for (int i = 0; i < spec.size; ++i) {
    if (Spec::Has(spec.ellipsis_mask, i)) {
      for (const int end = EllipsisEnd(spec, i, shape.rank()); axis < end; ++axis) {
        axes->push_back(WholeAxis(shape, axis));
      }
      continue;
    }
    SliceAxis taken;
    taken.size = 1;
    if (!Spec::Has(spec.new_axis_mask, i)) {
      if (axis >= shape.rank()) {
        return c.RankError(0, absl::StrCat("rank ", axis + 1, " or more, for ", spec.size, " specs"));
      }
      taken.size = kUnknownDim;
      taken.axis = axis;
      const int64_t size = shape.dim(axis++);
      SLUICE_RETURN_IF_ERROR(Spec::Has(spec.shrink_mask, i) ? ResolveIndex(c, spec, i, first, size, &taken)
                                                            : ResolveRange(c, spec, i, first, size, &taken));
    }
    axes->push_back(taken);
  }
  for (; axis < shape.rank(); ++axis) axes->push_back(WholeAxis(shape, axis));
  *known = true;
  return absl::OkStatus();
}

}  // namespace sluice
