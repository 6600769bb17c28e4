#ifndef SLUICE_GRAPH_FUNCTIONS_CHECK_H_
#define SLUICE_GRAPH_FUNCTIONS_CHECK_H_

#include "absl/status/status.h"
#include "graph/base/error.h"
#include "graph/base/limits.h"
#include "graph/ir/graph.h"

namespace sluice {

struct FunctionCheckOptions {
  LoadLimits limits;
  // Whether bodies that are called must be runnable too (CheckRunnable): TensorFlow finds out when they run.
  bool check_runnable = false;
};

// Note [Checking functions]
// 1. By name: no function has the name of an op, none leads back to itself (recursion_check.h), gradients are sound.
// 2. From the graph's calls down: each function is instantiated once for each binding of its attrs that some chain of
//    calls reaches; its body is checked as a graph is (names, ops, attrs, types, results, cycles, frames) and its calls
//    as the graph's are. On the way back up the nodes that full expansion would make are added up, so that limits
//    strike before anything is expanded.
// 3. Functions that nothing calls: what is wrong in itself (names, inputs, results, cycles) is reported; what may be
//    wrong only here (an op, a function or an attr value that this program does not know) is not, as nothing needs it.
//
// Checks the functions of `graph` and all calls of them. Errors name function and node; they go to `errors`, and the
// answer is OK; with `errors` null the answer holds them all. Linear in the size of the library times the number of
// different bindings, which `options.limits.max_expanded_nodes` bounds; not recursive. Costs nothing without functions.
absl::Status CheckFunctions(const Graph& graph, const FunctionCheckOptions& options, ErrorCollector* errors);

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_CHECK_H_
