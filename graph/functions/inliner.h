#ifndef SLUICE_GRAPH_FUNCTIONS_INLINER_H_
#define SLUICE_GRAPH_FUNCTIONS_INLINER_H_

// Replaces calls of functions by their bodies, and functional conditionals and loops by Switch, Merge, Enter, Exit.
//
// Note [Inlining]
//     before                           after
//     x ──► call ──► y        x ─► Func/call/input/_0 ─► call/... (body) ─► Func/call/output/_0 ─► y
//     c ┄┄► call ┄┄► d        c ┄► Func/call/input_control_node ┄► inputs     body's effects ┄► d
// - Each argument and result goes through an Identity, so that the body is live exactly where the call was: all inputs
//   wait for the call's control inputs, and body nodes without inputs wait for all inputs of the call. So they stand in
//   the call's frame and are dead in an untaken branch. (In graphs without conditionals and loops constants wait for
//   nothing.)
// - Effects wait for all inputs of the call, those that they do not read included: a call that is not replaced begins
//   when it has all its arguments, and TensorFlow's programs rely on that where one call's result is another's
//   argument.
// - Names of body nodes, their frames and colocation groups get "call/" in front; colocation with an argument becomes
//   colocation with its Identity, as TensorFlow has it.
// - Nodes that waited for the call wait for its control results; without any, and for direct calls, for its results and
//   those of its stateful nodes that run.
// - Body nodes that nothing needs are left out: see Note [Effects that nothing reads] in needed_parts.h. Devices that
//   the body leaves open are the call's.
// - Calls in bodies are replaced in turn. Functions marked `_noinline` stay calls, and so do SymbolicGradient and ops
//   whose kernels call functions; and what InlineOptions::choice says (Note [Called or inlined]).

#include <cstdint>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "graph/base/limits.h"
#include "graph/base/stop_poll.h"
#include "graph/functions/call_choice.h"
#include "graph/functions/call_state_names.h"
#include "graph/functions/call_states.h"
#include "graph/functions/needed_parts.h"
#include "graph/ir/graph.h"

namespace sluice {

struct InlineOptions {
  LoadLimits limits;
  StopPoll* stop = nullptr;  // Polled; null: never stops.
  // Direct calls, PartitionedCall, StatefulPartitionedCall.
  bool inline_calls = true;
  // If, Case, While and their Stateless forms that have _lower_using_switch_merge=true. See lower_control_flow.h.
  bool lower_control_flow = true;
  // Those without that mark as well (but not those that say false).
  bool lower_unmarked = false;
  // And those that are marked to stay (_noinline, _lower_using_switch_merge=false): for runs without call kernels.
  bool ignore_marks = false;
  // Which calls stay; null: those that are marked, unless marks are ignored. See Note [Called or inlined].
  const CallChoice* choice = nullptr;
  // With `choice`: nodes and calls are told which state they share. Null: none share any. See Note [State of calls].
  CallStates* states = nullptr;
  CallStateNames* names = nullptr;  // With `states`: gets names of the instances. Null if they are not needed.
  CallStates::Scope scope;          // Of the graph itself: an instance where it is the body of a function.
  // Nodes of the graph that may be replaced, but whose name must remain, to be fetched or targeted: an IdentityN of its
  // outputs, or a NoOp. `keep_all` means all of them; never nodes that came out of bodies.
  std::vector<NodeId> keep;
  bool keep_all = false;
  // Calls, conditionals and loops that it selects are left as they are, those in bodies too. Null: none.
  const absl::AnyInvocable<bool(NodeId) const>* leave = nullptr;
  // Leaves body nodes out that nothing needs.
  bool prune = true;
  // How the graph itself runs, where it is the body of a function.
  BodyRun run = BodyRun::kResults;
  // For PruneInlined, which callers run when all is inlined: nodes that replace some of its roots take their places,
  // and what is needed together is added. Null: the graph is not pruned.
  InlinedParts* parts = nullptr;
};

// An attr of calls that stay, for the compiler of the body: its BodyRun, unless that is kResults.
inline constexpr absl::string_view kBodyRunAttr = "_body_run";
BodyRun BodyRunOf(const Graph& graph, NodeId call);

// What was done.
struct InlineReport {
  int64_t calls = 0;
  int64_t calls_left = 0;  // By InlineOptions::choice.
  int64_t conditionals = 0;
  int64_t loops = 0;
  int64_t nodes_added = 0;
};

// See Note [Inlining]. Linear in the size of the result, not recursive. Errors name the call: those of BindCallees and
// AddFunctionBody, kLimitNodes, kLimitCallDepth; the graph is then unusable.
absl::StatusOr<InlineReport> InlineFunctionCalls(Graph& graph, const InlineOptions& options);

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_INLINER_H_
