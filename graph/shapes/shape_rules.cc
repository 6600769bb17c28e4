#include "graph/shapes/shape_rules.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"

namespace sluice {

absl::Status UnknownOutputs(InferenceContext& c) {
  c.SetAll(PartialShape());
  return absl::OkStatus();
}

absl::Status ScalarOutputs(InferenceContext& c) {
  c.SetAll(PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status VectorOutputs(InferenceContext& c) {
  c.SetAll(PartialShape::OfRank(1));
  return absl::OkStatus();
}

absl::Status SameAsInput0(InferenceContext& c) {
  c.Set(0, c.input(0));
  return absl::OkStatus();
}

absl::Status SameAsInput1(InferenceContext& c) {
  c.Set(0, c.input(1));
  return absl::OkStatus();
}

absl::Status SameAsInput2(InferenceContext& c) {
  c.Set(0, c.input(2));
  return absl::OkStatus();
}

absl::Status AllAsInput0(InferenceContext& c) {
  c.SetAll(c.input(0));
  return absl::OkStatus();
}

absl::Status PassThrough(InferenceContext& c) {
  for (int i = 0; i < std::min(c.num_inputs(), c.num_outputs()); ++i) c.Pass(i, i);
  return absl::OkStatus();
}

absl::Status ShapeInInput0(InferenceContext& c) {
  PartialShape shape;
  SLUICE_RETURN_IF_ERROR(c.ShapeFromValue(0, false, &shape));
  c.Set(0, shape);
  return absl::OkStatus();
}

absl::Status ShapeInInput1(InferenceContext& c) {
  PartialShape shape;
  SLUICE_RETURN_IF_ERROR(c.ShapeFromValue(1, false, &shape));
  c.Set(0, shape);
  return absl::OkStatus();
}

absl::Status SameShapeInputs(InferenceContext& c) {
  PartialShape shape = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (!shape.IsCompatibleWith(c.input(i))) {
      return c.MismatchError(i, "does not have the shape of the inputs before it", c.input(i), shape);
    }
    absl::StatusOr<PartialShape> merged = shape.MergeWith(c.input(i));
    if (merged.ok()) shape = *std::move(merged);
  }
  c.Set(0, shape);
  return absl::OkStatus();
}

absl::Status MergeOperand(InferenceContext& c, int i, PartialShape* shape) {
  if (c.rank(i) == 0) return absl::OkStatus();
  if (shape->rank() > 0 && !shape->IsCompatibleWith(c.input(i))) {
    return c.MismatchError(i, "operands other than scalars must have one shape", c.input(i), *shape);
  }
  absl::StatusOr<PartialShape> merged = shape->rank() > 0 ? shape->MergeWith(c.input(i)) : c.input(i);
  if (merged.ok()) *shape = *std::move(merged);
  return absl::OkStatus();
}

absl::Status BroadcastRange(InferenceContext& c, int begin, int end) {
  PartialShape shape = c.input(begin);
  for (int i = begin + 1; i < end; ++i) {
    bool differ = false;
    PartialShape wider = BroadcastShapes(shape, c.input(i), &differ);
    if (differ) {
      return c.MismatchError(
          i, absl::StrCat("shapes ", shape.ToString(), " and ", c.input(i).ToString(), " do not broadcast"), c.input(i),
          shape);
    }
    shape = std::move(wider);
  }
  c.Set(0, shape);
  return absl::OkStatus();
}

absl::Status BroadcastInputs01(InferenceContext& c) { return BroadcastRange(c, 0, 2); }

}  // namespace sluice
