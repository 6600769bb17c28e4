#include "kernels/math/broadcast.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/check.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

// Size of the axis `from_back` axes before the last; 1 before the first.
int64_t SizeFromBack(const Shape& shape, int from_back) {
  return from_back < shape.rank() ? shape.dim(shape.rank() - 1 - from_back) : 1;
}

absl::Status ShapesDoNotBroadcast(absl::Span<const Shape* const> shapes) {
  std::string found;
  for (const Shape* shape : shapes) absl::StrAppend(&found, found.empty() ? "" : " and ", shape->ToString());
  return ShapesError(found, "shapes that broadcast");
}

// The output's sizes, first axis first.
absl::StatusOr<absl::InlinedVector<int64_t, 6>> OutputSizes(absl::Span<const Shape* const> shapes) {
  int rank = 0;
  for (const Shape* shape : shapes) rank = std::max(rank, shape->rank());
  absl::InlinedVector<int64_t, 6> sizes(static_cast<size_t>(rank), 1);
  for (int k = 0; k < rank; ++k) {
    int64_t& size = sizes[static_cast<size_t>(rank - 1 - k)];
    for (const Shape* shape : shapes) {
      const int64_t own = SizeFromBack(*shape, k);
      if (own == 1 || own == size) continue;
      if (size != 1) return ShapesDoNotBroadcast(shapes);
      size = own;
    }
  }
  return sizes;
}

}  // namespace

absl::StatusOr<Broadcast> Broadcast::Make(absl::Span<const Shape* const> shapes) {
  SLUICE_DCHECK(shapes.size() <= kMaxInputs);
  SLUICE_ASSIGN_OR_RETURN(const auto sizes, OutputSizes(shapes));
  Broadcast made;
  SLUICE_ASSIGN_OR_RETURN(made.shape_, Shape::Make(sizes));
  Offsets contiguous = {1, 1, 1};  // Stride of each input's next axis.
  const int rank = made.shape_.rank();
  for (int k = 0; k < rank; ++k) {
    const int64_t size = SizeFromBack(made.shape_, k);
    if (size == 1) continue;
    Offsets strides = {0, 0, 0};
    for (size_t i = 0; i < shapes.size(); ++i) {
      const int64_t own = SizeFromBack(*shapes[i], k);
      if (own != 1) strides[i] = contiguous[i];
      contiguous[i] *= own;
    }
    made.Prepend(size, strides);
  }
  if (made.axes_.empty()) made.axes_.push_back({1, {0, 0, 0}, {0, 0, 0}});
  for (size_t k = 1; k < made.axes_.size(); ++k) {
    Axis& outer = made.axes_[k - 1];
    const Axis& inner = made.axes_[k];
    for (size_t i = 0; i < kMaxInputs; ++i) outer.steps[i] = outer.strides[i] - inner.size * inner.strides[i];
  }
  return made;
}

void Broadcast::Prepend(int64_t size, const Offsets& strides) {
  if (!axes_.empty()) {
    Axis& first = axes_.front();
    bool is_alike = true;
    for (size_t i = 0; i < kMaxInputs; ++i) is_alike &= strides[i] == first.strides[i] * first.size;
    if (is_alike) {
      first.size *= size;
      return;
    }
  }
  axes_.insert(axes_.begin(), {size, strides, {0, 0, 0}});
}

Broadcast::Places Broadcast::Locate(int64_t index, Offsets& offsets) const {
  Places places(axes_.size());
  for (size_t k = axes_.size(); k-- > 0;) {
    const int64_t size = std::max<int64_t>(axes_[k].size, 1);
    places[k] = index % size;
    index /= size;
    for (size_t i = 0; i < kMaxInputs; ++i) offsets[i] += places[k] * axes_[k].strides[i];
  }
  return places;
}

absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  const Shape* const shapes[] = {&a, &b};
  SLUICE_ASSIGN_OR_RETURN(const auto sizes, OutputSizes(shapes));
  return Shape::Make(sizes);
}

}  // namespace sluice
