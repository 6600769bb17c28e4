#ifndef SLUICE_GRAPH_FUNCTIONS_GRAPH_TO_FUNCTION_H_
#define SLUICE_GRAPH_FUNCTIONS_GRAPH_TO_FUNCTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/functions/instantiate.h"
#include "graph/ir/function_library.h"
#include "graph/ir/graph.h"

namespace sluice {

// The parts of a graph that become a function.
struct FunctionSpec {
  std::string name;
  // Each becomes an argument of its type; the nodes themselves (placeholders, _Arg) are left out of the body.
  std::vector<Output> args;
  std::vector<Output> results;
  std::vector<NodeId> control_results;
  // Names of arguments and results; by default those of their nodes ("r_RetVal" gives "r"). Made lower case and
  // unique, with '_' for what a name cannot have.
  std::vector<std::string> arg_names, result_names;
};

// The nodes of `graph` as a function without attrs: the reverse of InstantiateFunction. Every node but arguments and
// _Retval nodes goes into the body, in order of id, with attrs and device. kFunctionBody when a node uses another
// output of an argument's node.
absl::StatusOr<std::shared_ptr<const FunctionDefinition>> GraphToFunction(const Graph& graph, const FunctionSpec& spec);

// The same for an instantiated function, under a new name.
absl::StatusOr<std::shared_ptr<const FunctionDefinition>> GraphToFunction(const FunctionGraph& function,
                                                                          absl::string_view name);

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_GRAPH_TO_FUNCTION_H_
