#ifndef SLUICE_GRAPH_FUNCTIONS_FUNCTION_BODY_H_
#define SLUICE_GRAPH_FUNCTIONS_FUNCTION_BODY_H_

// Adds the body of a function to a graph: the only place where the names in bodies become edges.
// See Note [Values in bodies] in body_values.h.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/functions/attr_binding.h"
#include "graph/ir/graph.h"

namespace sluice {

struct BodyOptions {
  // The prefix of the names of nodes and frames. A name that is taken gets a suffix "_1", ...
  std::string prefix;
  // The arguments, flattened: one output per entry of the function's signature.
  std::vector<Output> args;
  // Leaves out what neither a result, a control result, a control-flow op nor (with `keep_effects`) a stateful op
  // needs.
  bool prune = false;
  bool keep_effects = true;
  // Device of the call: fills what the devices of the body's nodes leave open, but for ops on resources, which stand
  // with these, and nodes that are tied to others of the body which ask for devices.
  std::string device;
};

struct BodyNodes {
  std::vector<NodeId> nodes;            // In order of the body; pruned ones left out.
  std::vector<Output> results;          // Flattened, one per output of the signature.
  std::vector<NodeId> control_results;  // What control_ret names.
  std::vector<NodeId> stateful;         // Nodes of stateful ops.
};

// Adds the nodes of `function`'s body to `graph`, attrs bound, colocation groups renamed along: what stands with
// an argument stands with the node that gives it, where its device lets it. Ops are those of
// `graph`; functions called directly must be in its library. All errors of the body at once (AllErrors), each naming
// function and node: kFunctionBody, kFunctionRet, kNodeDuplicate, kOpUnknown, kAttr..., kInput...; the graph may then
// hold some of the nodes. Linear, not recursive; cycles are not looked for.
absl::StatusOr<BodyNodes> AddFunctionBody(Graph& graph, const BoundFunction& function, const BodyOptions& options);

// `device` with the parts that it leaves open taken from `outer`: "/device:GPU:1" in "/job:w/task:2" is
// "/job:w/task:2/device:GPU:1".
std::string MergeDevices(absl::string_view device, absl::string_view outer);

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_FUNCTION_BODY_H_
