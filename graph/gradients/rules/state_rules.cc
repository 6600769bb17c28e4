// Gradients of reads of variables. That of a variable belongs to its handle, in the shape of its value.

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

Expr VariableShape(GradientContext& c, DType type) {
  return AddOp("VariableShape", {c.Input(0)}, {{"out_type", AttrValue(type)}});
}

// Rows picked by input 1, which are the gradient; see PickedRows in gather.cc.
absl::Status ResourceGather(GradientContext& c) {
  if (const int64_t batch_dims = c.Int("batch_dims"); batch_dims != 0) {
    return c.Refuse("rows of batches are picked (batch_dims), for which TensorFlow has no gradient either");
  }
  const Expr indices = c.Input(1), shape = VariableShape(c, DType::kInt32);
  if (c.InputRank(1) == 1) {
    c.SetSlices(0, c.dy(), indices, shape);
    return absl::OkStatus();
  }
  const Expr count = AsVector(SizeOf(indices));
  const Expr values = Reshape(c.dy(), Concat({count, SliceFrom(shape, 1)}, 0));
  c.SetSlices(0, values, Reshape(indices, count), shape);
  return absl::OkStatus();
}

absl::Status ResourceGatherNd(GradientContext& c) {
  const Expr indices = c.Input(1), shape = VariableShape(c, indices.type());
  const PartialShape index_shape = c.InputShape(1);
  if (index_shape.rank() == 2 && index_shape.dim(1) == 1) {
    c.SetSlices(0, c.dy(), Squeeze(indices, {-1}), shape);
  } else {
    c.SetInput(0, ScatterNd(indices, c.dy(), shape));
  }
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"ReadVariableOp", &PassOn},
    {"ResourceGather", &ResourceGather},
    {"ResourceGatherNd", &ResourceGatherNd},
    {"_ReadVariablesOp", &PassAllOn},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> StateGradients() { return kRows; }

}  // namespace sluice
