#ifndef SLUICE_TESTS_TESTING_OP_CASES_H_
#define SLUICE_TESTS_TESTING_OP_CASES_H_

// Small graphs around one node of any op that has a kernel, for sweeps and as seeds of fuzzers.

#include <string>
#include <vector>

#include "graph/ir/op_schema.h"
#include "graph/ir/signature.h"
#include "graph/proto/graph.pb.h"

namespace sluice {

// One op and one choice of its types: a node named "op" that import accepts, without inputs yet.
struct OpCase {
  const OpSchema* schema = nullptr;
  proto::NodeDef node;
  Signature signature;
};

// Every row of BuiltinKernels() with each dtype of each type attr in turn, and the control flow ops that need no kernel
// and make sense alone. Ops that only rewrites may make are left out.
std::vector<OpCase> AllOpCases();

// Where the node stands.
enum class OpPlace {
  kGraph,
  kBody,              // In the body of a function that is called once.
  kBodyPlaceholders,  // The same, all its attrs being placeholders that the caller binds.
};
inline constexpr OpPlace kOpPlaces[] = {OpPlace::kGraph, OpPlace::kBody, OpPlace::kBodyPlaceholders};

// A graph that runs the node of a case.
struct OpGraph {
  proto::GraphDef graph;
  std::vector<std::string> fetches;  // Values of it that can be fetched.
  std::string target;                // The node to run for its effect.
};

// The graph around `op_case`: a Placeholder "x<i>" for each input that is a plain value, variables, stacks and
// TensorArrays (given a first value from a Placeholder "init") for handles and references.
OpGraph MakeOpGraph(const OpCase& op_case, OpPlace place);

// Moves all nodes of `graph` but its Placeholders into the body of a function "Body" that a node "call" calls:
// arguments are the Placeholders, results the `fetches`. Every attr of the node named `bound_node`, if there is one,
// becomes a placeholder that the call binds.
OpGraph WrapInFunction(const OpGraph& graph, const std::string& bound_node);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_OP_CASES_H_
