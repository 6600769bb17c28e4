#ifndef SLUICE_KERNELS_STATE_SCATTER_PLAN_H_
#define SLUICE_KERNELS_STATE_SCATTER_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/value/tensor.h"
#include "kernels/array/index_values.h"

namespace sluice {

// Where the parts that a list of indices names lie in a tensor: `count` parts of `inner` elements each. A value type;
// borrows the indices.
class ScatterPlan {
 public:
  // Each index is a row of `value`. kOpShape for a scalar `value`.
  static absl::StatusOr<ScatterPlan> ForRows(const Tensor& value, const Tensor& indices);
  // The last axis of the indices holds a position in the first axes of `value`. kOpShape when it is too long.
  static absl::StatusOr<ScatterPlan> ForPositions(const Tensor& value, const Tensor& indices);
  // The same, but a vector names a row with each of its elements, and no position is empty unless `value` is: so
  // scatters take it, unlike gathers.
  static absl::StatusOr<ScatterPlan> ForUpdates(const Tensor& value, const Tensor& indices);

  int64_t count() const { return count_; }
  int64_t inner() const { return inner_; }
  // The shape of all parts together.
  const Shape& shape() const { return shape_; }
  // The first element of part `i`, or -1 when its index is out of range.
  int64_t Offset(int64_t i) const {
    int64_t offset = 0;
    for (size_t axis = 0; axis < limits_.size(); ++axis) {
      const int64_t index = IndexAt(*indices_, i * static_cast<int64_t>(limits_.size()) + static_cast<int64_t>(axis));
      if (index < 0 || index >= limits_[axis]) return -1;
      offset += index * strides_[axis];
    }
    return offset;
  }
  // kOpValue for part `i`, whose index is out of range.
  absl::Status OutOfRange(int64_t i) const;
  // OK when all indices are in range.
  absl::Status CheckAll() const;

 private:
  static absl::StatusOr<ScatterPlan> Make(const Tensor& value, const Tensor& indices, int depth,
                                          absl::Span<const int64_t> outer);

  const Tensor* indices_ = nullptr;
  IndexVector limits_, strides_;  // Of the axes of `value` that an index goes through.
  int64_t count_ = 0, inner_ = 0;
  Shape shape_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_SCATTER_PLAN_H_
