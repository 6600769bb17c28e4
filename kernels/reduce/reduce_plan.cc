#include "kernels/reduce/reduce_plan.h"

#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

// Neighbours of one fate, joined.
struct Group {
  int64_t size = 1;
  bool is_reduced = false;
};
using Groups = absl::InlinedVector<Group, 8>;
using Flags = absl::InlinedVector<bool, 8>;

absl::StatusOr<Flags> ReducedAxes(const KernelContext& context, int axes_input, int rank) {
  constexpr absl::string_view kName = "reduction_indices";
  SLUICE_ASSIGN_OR_RETURN(const IndexVector axes, ReadIndexVector(context, axes_input, kName, ListRank::kAny));
  Flags reduced(static_cast<size_t>(rank), false);
  for (const int64_t value : axes) {
    SLUICE_ASSIGN_OR_RETURN(const int axis, ResolveAxis(value, rank, axes_input, kName));
    if (reduced[static_cast<size_t>(axis)]) {
      return ValueError(axes_input, kName, absl::StrCat("axis ", value, " twice"), "each axis once");
    }
    reduced[static_cast<size_t>(axis)] = true;
  }
  return reduced;
}

// Sizes of 1 belong to any group.
Groups JoinAxes(const Shape& shape, const Flags& reduced) {
  Groups groups;
  for (size_t axis = 0; axis < reduced.size(); ++axis) {
    const int64_t size = shape.dims()[axis];
    if (size == 1) continue;
    if (groups.empty() || groups.back().is_reduced != reduced[axis]) {
      groups.push_back({size, reduced[axis]});
    } else {
      groups.back().size *= size;
    }
  }
  return groups;
}

// Kept groups to the front, reduced ones behind them.
void PlanMixture(const Groups& groups, ReducePlan* plan) {
  plan->is_mixed = true;
  plan->outer = plan->reduced = 1;
  CopyAxes kept, reduced;
  int64_t stride = 1;
  for (size_t i = groups.size(); i-- > 0;) {
    CopyAxes& axes = groups[i].is_reduced ? reduced : kept;
    axes.insert(axes.begin(), {groups[i].size, 0, stride});
    (groups[i].is_reduced ? plan->reduced : plan->outer) *= groups[i].size;
    stride *= groups[i].size;
  }
  plan->order = kept;
  plan->order.insert(plan->order.end(), reduced.begin(), reduced.end());
  int64_t to = 1;
  for (size_t i = plan->order.size(); i-- > 0;) {
    plan->order[i].to = to;
    to *= plan->order[i].size;
  }
}

}  // namespace

absl::StatusOr<ReducePlan> PlanReduction(const KernelContext& context, const Shape& shape, int axes_input,
                                         bool keep_dims) {
  SLUICE_ASSIGN_OR_RETURN(const Flags reduced, ReducedAxes(context, axes_input, shape.rank()));
  IndexVector dims;
  for (size_t axis = 0; axis < reduced.size(); ++axis) {
    if (!reduced[axis]) {
      dims.push_back(shape.dims()[axis]);
    } else if (keep_dims) {
      dims.push_back(1);
    }
  }
  ReducePlan plan;
  SLUICE_ASSIGN_OR_RETURN(plan.shape, MakeShape(dims));
  const Groups groups = JoinAxes(shape, reduced);
  size_t next = 0;
  const auto take = [&](bool is_reduced) {
    return next < groups.size() && groups[next].is_reduced == is_reduced ? groups[next++].size : int64_t{1};
  };
  plan.outer = take(false);
  plan.reduced = take(true);
  plan.inner = take(false);
  if (next < groups.size()) {
    plan.inner = 1;
    PlanMixture(groups, &plan);
  } else if (plan.reduced == 1 && plan.inner == 1) {
    plan.inner = plan.outer;  // Nothing to reduce: one row is quicker than many columns.
    plan.outer = 1;
  }
  return plan;
}

}  // namespace sluice
