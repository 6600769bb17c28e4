#ifndef SLUICE_GRAPH_IR_RUNNABLE_CHECK_H_
#define SLUICE_GRAPH_IR_RUNNABLE_CHECK_H_

#include "absl/status/status.h"
#include "graph/base/error.h"
#include "graph/ir/graph.h"
#include "graph/ir/node_properties.h"

namespace sluice {

// Note [Runnable graphs]
// What every graph must satisfy before anything runs it, however it was made: a session's step after feeds, calls and
// control flow were rewritten, a graph given to NewLocalExecutor, the body of a function, a graph built by hand.
// Plans, schedulers and kernels rely on it and index by it. Import, AddNode and SetAttr keep most of it (names, ops,
// kinds and values of attrs, types of edges), but not all: TensorFlow loads graphs that break some rules and fails when
// the node is made to run, and a graph under construction has open inputs. So it is checked here, once, at the door:
//  1. All attrs satisfy the op's rules, the minima of those that decide the arity included (N of AddN, num_outs of
//     _SwitchN, T of IdentityN), and those that must agree do (N and dtypes of _ReadVariablesOp, T and Tout of Imag).
//  2. Nodes that executors treat in a way of their own (OpClass) have the inputs and outputs that this way needs.
//  3. Each data input is set and comes from a node that is there, from an output that is there, of the right type and,
//     where a reference is needed, a reference. Each control input comes from a node that is there.
// Frames and cycles are the matter of BuildControlFlowInfo (control_flow_check.h).
//
// Checks them for all nodes of `graph`. Answers the first error, with node and place; with `errors` not null all of
// them go there, and the answer is OK. Linear, not recursive; 1 is done once for each op and signature.
absl::Status CheckRunnable(const Graph& graph, ErrorCollector* errors = nullptr);

// The minima of rule 1 for one node alone: what a kernel needs that is made without a plan.
absl::Status CheckAttrMinimums(const NodeProperties& node);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_RUNNABLE_CHECK_H_
