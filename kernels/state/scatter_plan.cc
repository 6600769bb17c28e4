#include "kernels/state/scatter_plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/input_error.h"

namespace sluice {

absl::StatusOr<ScatterPlan> ScatterPlan::Make(const Tensor& value, const Tensor& indices, int depth,
                                              absl::Span<const int64_t> outer) {
  ScatterPlan plan;
  plan.indices_ = &indices;
  const absl::Span<const int64_t> dims = value.shape().dims();
  const IndexVector strides = RowMajorStrides(value.shape());
  plan.limits_.assign(dims.begin(), dims.begin() + depth);
  plan.strides_.assign(strides.begin(), strides.begin() + depth);
  IndexVector parts(outer.begin(), outer.end());
  parts.insert(parts.end(), dims.begin() + depth, dims.end());
  SLUICE_ASSIGN_OR_RETURN(plan.shape_, MakeShape(parts));
  plan.inner_ = SizeOfAxes(value.shape(), depth, value.rank());
  SLUICE_ASSIGN_OR_RETURN(const Shape counted, MakeShape(outer));
  plan.count_ = counted.num_elements();
  return plan;
}

absl::StatusOr<ScatterPlan> ScatterPlan::ForRows(const Tensor& value, const Tensor& indices) {
  if (value.rank() == 0) return ShapeError(0, "", "a scalar", "a variable of at least rank 1");
  return Make(value, indices, 1, indices.shape().dims());
}

absl::StatusOr<ScatterPlan> ScatterPlan::ForPositions(const Tensor& value, const Tensor& indices) {
  const int last = indices.rank() - 1;
  if (last < 0 || indices.dim(last) > value.rank()) {
    return ShapeError(
        1, "indices", indices.shape(),
        absl::StrCat("a last axis of at most ", value.rank(), " for a variable of shape ", value.shape().ToString()));
  }
  return Make(value, indices, static_cast<int>(indices.dim(last)),
              indices.shape().dims().subspan(0, static_cast<size_t>(last)));
}

absl::StatusOr<ScatterPlan> ScatterPlan::ForUpdates(const Tensor& value, const Tensor& indices) {
  if (indices.rank() == 1) return ForRows(value, indices);
  if (indices.rank() > 1 && indices.dim(indices.rank() - 1) == 0 && value.num_elements() > 0) {
    return ShapeError(1, "indices", indices.shape(), "at least 1 index for each update");
  }
  return ForPositions(value, indices);
}

absl::Status ScatterPlan::OutOfRange(int64_t i) const {
  IndexVector position;
  const int64_t depth = static_cast<int64_t>(limits_.size());
  for (int64_t axis = 0; axis < depth; ++axis) position.push_back(IndexAt(*indices_, i * depth + axis));
  return ValueError(1, "indices", absl::StrCat("index [", absl::StrJoin(position, ","), "] at position ", i),
                    absl::StrCat("indices below [", absl::StrJoin(limits_, ","), "], none negative"));
}

absl::Status ScatterPlan::CheckAll() const {
  for (int64_t i = 0; i < count_; ++i) {
    if (Offset(i) < 0) return OutOfRange(i);
  }
  return absl::OkStatus();
}

}  // namespace sluice
