#ifndef SLUICE_GRAPH_FUNCTIONS_INSTANTIATE_H_
#define SLUICE_GRAPH_FUNCTIONS_INSTANTIATE_H_

// A function's body as a graph of its own, for calls that are not inlined and for checks.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/functions/attr_binding.h"
#include "graph/ir/graph.h"

namespace sluice {

struct InstantiateOptions {
  // Leaves out what neither a result, a control result, a control-flow op nor (with `keep_effects`) a stateful op
  // needs. Arguments stay.
  bool prune = false;
  bool keep_effects = true;
  // The graph gets the whole library, so that it can be expanded further. Otherwise it gets only the functions that the
  // body calls directly: enough to know the types.
  bool with_library = true;
  // Of the graph that the library is from: decides which ops are too old.
  GraphVersions versions;
};

// The result of InstantiateFunction. A value type.
struct FunctionGraph {
  Graph graph;
  std::vector<NodeId> args;             // _Arg nodes, one per tensor argument, attr index in order.
  std::vector<NodeId> results;          // _Retval nodes, one per result.
  std::vector<NodeId> control_results;  // Nodes that must have run before a call is done.
  Signature signature;
};

// The body of `function` with its attrs bound. Argument "x" becomes the _Arg node "x" (with "_0", "_1", ... when it
// is a list of other than one tensor), result "r" the _Retval node "r_RetVal" (likewise). Errors as in AddFunctionBody,
// and kCycle. Linear.
absl::StatusOr<FunctionGraph> InstantiateFunction(const FunctionLibrary& library, std::shared_ptr<const OpRegistry> ops,
                                                  const BoundFunction& function, const InstantiateOptions& options);

// The same for the function `name` of `graph`'s library.
absl::StatusOr<FunctionGraph> InstantiateFunction(const Graph& graph, absl::string_view name,
                                                  absl::Span<const NamedAttr> attrs = {}, bool prune = false);

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_INSTANTIATE_H_
