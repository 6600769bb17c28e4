#include "kernels/random/batch_parameters.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/check.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"

namespace sluice {

absl::StatusOr<BatchParameters> BatchParameters::Make(absl::Span<const Shape* const> shapes) {
  SLUICE_DCHECK(shapes.size() <= kMaxTensors);
  int rank = 0;
  for (const Shape* const shape : shapes) rank = std::max(rank, shape->rank());
  BatchParameters made;
  made.axes_.resize(static_cast<size_t>(rank));
  for (size_t tensor = 0; tensor < shapes.size(); ++tensor) {
    const Shape& shape = *shapes[tensor];
    int64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      Axis& to = made.axes_[static_cast<size_t>(axis + rank - shape.rank())];
      const int64_t size = shape.dim(axis);
      if (size == 1) continue;
      if (to.size != 1 && to.size != size) {
        return ShapesError(absl::StrCat("parameters of sizes ", to.size, " and ", size), "equal sizes, or 1");
      }
      to.size = size;
      to.strides[tensor] = stride;
      if (shape.num_elements() > 0) stride *= size;  // Else nothing is looked up, and sizes may be of any size.
    }
  }
  IndexVector dims;
  for (const Axis& axis : made.axes_) dims.push_back(axis.size);
  SLUICE_ASSIGN_OR_RETURN(made.shape_, MakeShape(dims));
  return made;
}

int64_t BatchParameters::IndexOf(size_t tensor, int64_t batch) const {
  int64_t index = 0;
  for (size_t axis = axes_.size(); axis-- > 0;) {
    index += batch % axes_[axis].size * axes_[axis].strides[tensor];
    batch /= axes_[axis].size;
  }
  return index;
}

}  // namespace sluice
