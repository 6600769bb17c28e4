#ifndef SLUICE_GRAPH_FUNCTIONS_LOWER_CONTROL_FLOW_H_
#define SLUICE_GRAPH_FUNCTIONS_LOWER_CONTROL_FLOW_H_

// If, Case and While as Switch, Merge, Enter, Exit around calls of their functions. Used by InlineFunctionCalls.
//
// Note [Lowered conditionals]
//   pred ─► Switch ─► pivot of each branch (Identity) ┄► call of the branch's function
//   x ────► Switch(x, pred) ──────────────────────────► call ─► Merge ─► users of the If
//   pivots ─► Merge "branch_executed" ◄┄ calls          ┄► waited for the If
// The control inputs of the If go to the first Switch; the pivots pass them on. A Merge lives when one of its inputs
// does, so only the taken branch must have run, and all of its effects have happened when branch_executed fires.
//
// Note [Lowered loops]
//   x ─► Enter ─► Merge ─► call of cond ─► LoopCond
//                   └────► Switch ─0─► Exit ─► users of the While
//                            └─1─► call of body ─► NextIteration ─► Merge
// The frame has the name of the While. A variable that the body hands on unchanged enters as a loop constant and needs
// nothing else; its result is the value that came in, held back until the loop is done. The call of the body has a
// control input that is dead when the loop ends, so that nothing of the body runs once more. Effects of cond and body
// (their control results) happen before the next step: LoopCond waits for those of cond, NextIteration for body's.

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/functions/attr_binding.h"
#include "graph/functions/call_expansion.h"
#include "graph/functions/call_site.h"

namespace sluice {

// Replaces the If or Case `id`, whose branches (in the order of BindCallees) are `branches`, and puts the calls it
// makes on `expansion`'s list at `depth`. A condition that is not bool goes through ToBool.
absl::Status LowerConditional(CallExpansion& expansion, NodeId id, CallKind kind,
                              absl::Span<const BoundFunction> branches, int depth);

// Whether the While `id` can be lowered: a loop without variables has no frame to run in.
bool CanLowerLoop(const Graph& graph, NodeId id);

// Replaces the While `id`. REQUIRES: CanLowerLoop.
absl::Status LowerLoop(CallExpansion& expansion, NodeId id, const BoundFunction& cond, const BoundFunction& body,
                       int depth);

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_LOWER_CONTROL_FLOW_H_
