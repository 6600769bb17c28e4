// Shapes of variables, reference and resource alike. A variable's value may have another shape than the declared one
// (validate_shape=false): such shapes are assumed.

#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

absl::Status DeclaredShape(InferenceContext& c) {
  c.MarkAssumed();
  c.Set(0, c.ShapeAttr("shape"));
  return absl::OkStatus();
}

// The first kind of variable could not tell a scalar from an unknown shape.
absl::Status VariableV1(InferenceContext& c) {
  c.MarkAssumed();
  const PartialShape shape = c.ShapeAttr("shape");
  if (shape.rank() != 0) c.Set(0, shape);
  return absl::OkStatus();
}

absl::Status TemporaryVariable(InferenceContext& c) {
  c.Set(0, c.ShapeAttr("shape"));
  return absl::OkStatus();
}

// The reference that comes out has the shape of the value.
absl::Status Assign(InferenceContext& c) {
  c.MarkAssumed();
  if (!c.Bool("validate_shape", true)) return SameAsInput1(c);
  absl::StatusOr<PartialShape> merged = c.input(0).MergeWith(c.input(1));
  c.Set(0, merged.ok() ? *merged : c.input(1));
  return absl::OkStatus();
}

absl::Status AssignUpdate(InferenceContext& c) {
  c.MarkAssumed();
  absl::StatusOr<PartialShape> merged = c.input(0).MergeWith(c.input(1));
  c.Set(0, merged.ok() ? *merged : c.input(0));
  return absl::OkStatus();
}

absl::Status VarHandle(InferenceContext& c) {
  c.SetScalar(0);
  c.SetHandle(0, {{c.Type("dtype"), c.ShapeAttr("shape")}});
  return absl::OkStatus();
}

absl::Status ReadVariable(InferenceContext& c) {
  c.MarkAssumed();
  SLUICE_RETURN_IF_ERROR(c.RequireHandleType(0, 0, c.Type("dtype"), "dtype"));
  c.Set(0, c.handle_shape(0));
  return absl::OkStatus();
}

// The assigned value is of the variable's type; its shape may differ from that which the handle states.
absl::Status AssignVariable(InferenceContext& c) {
  c.MarkAssumed();
  return c.RequireHandleType(0, 0, c.Type("dtype"), "dtype");
}

absl::Status VariableShape(InferenceContext& c) {
  c.MarkAssumed();
  const PartialShape shape = c.handle_shape(0);
  c.SetVector(0, shape.rank());
  if (!shape.IsFullyDefined()) return absl::OkStatus();
  c.SetValue(0, ShapeValue::Vector(DimsOf(shape)));
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"ApplyAdaMax", &SameAsInput0},
    {"ApplyAdadelta", &SameAsInput0},
    {"ApplyAdagrad", &SameAsInput0},
    {"ApplyAdagradDA", &SameAsInput0},
    {"ApplyAdagradV2", &SameAsInput0},
    {"ApplyAdam", &SameAsInput0},
    {"ApplyAddSign", &SameAsInput0},
    {"ApplyCenteredRMSProp", &SameAsInput0},
    {"ApplyFtrl", &SameAsInput0},
    {"ApplyFtrlV2", &SameAsInput0},
    {"ApplyGradientDescent", &SameAsInput0},
    {"ApplyMomentum", &SameAsInput0},
    {"ApplyPowerSign", &SameAsInput0},
    {"ApplyProximalAdagrad", &SameAsInput0},
    {"ApplyProximalGradientDescent", &SameAsInput0},
    {"ApplyRMSProp", &SameAsInput0},
    {"Assign", &Assign},
    {"AssignAdd", &AssignUpdate},
    {"AssignAddVariableOp", &AssignVariable},
    {"AssignSub", &AssignUpdate},
    {"AssignSubVariableOp", &AssignVariable},
    {"AssignVariableOp", &AssignVariable},
    {"CountUpTo", &ScalarOutputs},
    {"DestroyTemporaryVariable", &SameAsInput0},
    {"IsVariableInitialized", &ScalarOutputs},
    {"ReadVariableOp", &ReadVariable},
    {"ResourceCountUpTo", &ScalarOutputs},
    {"ScatterAdd", &SameAsInput0},
    {"ScatterDiv", &SameAsInput0},
    {"ScatterMax", &SameAsInput0},
    {"ScatterMin", &SameAsInput0},
    {"ScatterMul", &SameAsInput0},
    {"ScatterNdAdd", &SameAsInput0},
    {"ScatterNdMax", &SameAsInput0},
    {"ScatterNdMin", &SameAsInput0},
    {"ScatterNdSub", &SameAsInput0},
    {"ScatterNdUpdate", &SameAsInput0},
    {"ScatterSub", &SameAsInput0},
    {"ScatterUpdate", &SameAsInput0},
    {"SparseApplyAdadelta", &SameAsInput0},
    {"SparseApplyAdagrad", &SameAsInput0},
    {"SparseApplyAdagradDA", &SameAsInput0},
    {"SparseApplyAdagradV2", &SameAsInput0},
    {"SparseApplyCenteredRMSProp", &SameAsInput0},
    {"SparseApplyFtrl", &SameAsInput0},
    {"SparseApplyFtrlV2", &SameAsInput0},
    {"SparseApplyMomentum", &SameAsInput0},
    {"SparseApplyProximalAdagrad", &SameAsInput0},
    {"SparseApplyProximalGradientDescent", &SameAsInput0},
    {"SparseApplyRMSProp", &SameAsInput0},
    {"TemporaryVariable", &TemporaryVariable},
    {"VarHandleOp", &VarHandle},
    {"VarIsInitializedOp", &ScalarOutputs},
    {"Variable", &VariableV1},
    {"VariableShape", &VariableShape},
    {"VariableV2", &DeclaredShape},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> StateRows() { return kRows; }

}  // namespace sluice
