#ifndef SLUICE_GRAPH_BASE_ERROR_CODE_ROWS_TAPE_H_
#define SLUICE_GRAPH_BASE_ERROR_CODE_ROWS_TAPE_H_

// The rows of the tape. Included by error_code.cc only.

#include "graph/base/error_code.h"

namespace sluice {

inline constexpr ErrorCodeRow kTapeRows[] = {
    {ErrorCode::kTapeUndefined, absl::StatusCode::kFailedPrecondition, "A variable is undefined.",
     "An empty Var was used, for example the gradient of a leaf before any backward pass.",
     "SLC8001: Mul 'Mul': input 1: is undefined", "Check defined() first."},
    {ErrorCode::kTapeForeign, absl::StatusCode::kFailedPrecondition, "A variable belongs to another tape.",
     "Variables of two tapes were combined in one op or one pass.",
     "SLC8002: Add 'Add': input 1: is a variable of another tape than the input before it",
     "Use one tape, or make a leaf of the value on the other one."},
    {ErrorCode::kTapeNeedsNoGrad, absl::StatusCode::kFailedPrecondition, "A variable does not require a gradient.",
     "A root, an input, a hook or a retained gradient needs a variable that requires one.",
     "SLC8003: root 0 does not require a gradient",
     "Set requires_grad on the leaves before the ops run, and record outside of a NoGradScope."},
    {ErrorCode::kTapeRoot, absl::StatusCode::kFailedPrecondition, "A root of the pass needs an explicit gradient.",
     "Only real scalars have an implicit one; gradients that are given must match the roots in number, type and shape.",
     "SLC8004: root 0 has no gradient, which can be implicitly created only for scalar outputs; found [3]",
     "Reduce the root to a scalar, or pass one gradient per root."},
    {ErrorCode::kTapeUnused, absl::StatusCode::kFailedPrecondition, "An input does not reach the roots.",
     "Grad was asked for the gradient of a variable from which the roots were not computed.",
     "SLC8005: input 0 of Grad was not used to compute the outputs", "Set allow_unused to get an undefined gradient."},
    {ErrorCode::kTapeFreed, absl::StatusCode::kFailedPrecondition, "A node's saved values are gone.",
     "A second backward pass goes through a node whose saved values the first one freed.",
     "SLC8006: Mul 'Mul': backward through this node a second time", "Set retain_graph in the first pass."},
    {ErrorCode::kTapeModified, absl::StatusCode::kFailedPrecondition, "A saved value has been modified in place.",
     "A variable that the backward pass needs was assigned to after the op that saved it.",
     "SLC8007: Mul 'Mul': needs input 1 of Mul, float32 [2], which has been modified by an assignment since",
     "Assign to a clone, or only after the backward pass."},
    {ErrorCode::kTapeLeafAssigned, absl::StatusCode::kFailedPrecondition, "A leaf was assigned to while recording.",
     "Its gradient would belong to no value that anybody has.",
     "SLC8008: a leaf that requires a gradient cannot be assigned to while ops are recorded",
     "Do so under a NoGradScope."},
    {ErrorCode::kTapeHook, absl::StatusCode::kFailedPrecondition, "A hook is wrong.",
     "It is empty or unknown, or it returned gradients in another number, type or shape than it was given.",
     "SLC8009: there is no hook of this number; found 3", "Correct the hook; see tape_hooks.h."},
    {ErrorCode::kTapeFunction, absl::StatusCode::kFailedPrecondition, "A custom function breaks its contract.",
     "It returned the wrong number of gradients, or called a method of its context in the wrong place.",
     "SLC8010: Square 'Square': gave an incorrect number of gradients; found 1, expected 2",
     "See custom_function.h."},
    {ErrorCode::kTapeNoDerivative, absl::StatusCode::kUnimplemented, "An op on the way has no gradient.",
     "A root depends on an input through an op for which no gradient is registered, or which was made not to have one.",
     "SLC8011: Angle 'Angle': no gradient is registered for this op",
     "Detach the value if it is to count as a constant, or write the op as a custom function."},
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_ERROR_CODE_ROWS_TAPE_H_
