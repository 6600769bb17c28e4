#ifndef SLUICE_GRAPH_SHAPES_SHAPE_RULES_H_
#define SLUICE_GRAPH_SHAPES_SHAPE_RULES_H_

// Shape functions that many families share.

#include "graph/shapes/shape_functions.h"

namespace sluice {

// Leaves all outputs unknown. For ops whose output shapes depend on their data.
absl::Status UnknownOutputs(InferenceContext& c);
// All outputs are scalars.
absl::Status ScalarOutputs(InferenceContext& c);
// All outputs are vectors of unknown size.
absl::Status VectorOutputs(InferenceContext& c);
// Output 0 has the shape of input 0. Contents and what a handle refers to go with it only in PassThrough.
absl::Status SameAsInput0(InferenceContext& c);
absl::Status SameAsInput1(InferenceContext& c);
absl::Status SameAsInput2(InferenceContext& c);
// Every output has the shape of input 0.
absl::Status AllAsInput0(InferenceContext& c);
// Output i is input i.
absl::Status PassThrough(InferenceContext& c);
// Output 0 has the shape that integer vector input 0 (1) states.
absl::Status ShapeInInput0(InferenceContext& c);
absl::Status ShapeInInput1(InferenceContext& c);
// Output 0 has the shape that all inputs have. An input that differs is an error.
absl::Status SameShapeInputs(InferenceContext& c);
// Merges the shape of input `i`, one of operands that have one shape where they are not scalars, into that of those
// before it.
absl::Status MergeOperand(InferenceContext& c, int i, PartialShape* shape);
// Inputs 0 and 1 broadcast.
absl::Status BroadcastInputs01(InferenceContext& c);

// Sets output 0 to what inputs [begin, end) broadcast to.
absl::Status BroadcastRange(InferenceContext& c, int begin, int end);

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_SHAPE_RULES_H_
