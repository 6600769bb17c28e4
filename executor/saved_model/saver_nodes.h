#ifndef SLUICE_EXECUTOR_SAVED_MODEL_SAVER_NODES_H_
#define SLUICE_EXECUTOR_SAVED_MODEL_SAVER_NODES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/session/session.h"
#include "graph/ir/graph.h"
#include "graph/load/meta_graph.h"

namespace sluice {

// The nodes that write variables into a checkpoint and read them back, as tf.train.Saver adds them. By name, since a
// session has a copy of the graph.
struct SaverNodes {
  SaverInfo saver;
  std::vector<std::string> variables;  // Their nodes' names, which are their keys in a checkpoint.
  std::vector<std::string> reads;      // The tensor with the value of each variable.
  std::vector<std::string> restored;   // The tensor that is read from a checkpoint for each; it may be fed instead.
  std::vector<std::string> assigns;    // The node that gives each what was restored.
};

// The nodes of `graph` that are variables and that one of `roots` needs, in the order of ids. Those of one handle (the
// same container and shared name) count once.
std::vector<NodeId> VariablesNeededBy(const Graph& graph, absl::Span<const NodeId> roots);

// Adds them for `variables` (VarHandleOp, VariableV2, Variable), all by names below `name`/. Nothing is added, and all
// names are empty, without variables.
absl::StatusOr<SaverNodes> AddSaver(Graph& graph, absl::Span<const NodeId> variables, const std::string& name = "save");

// The values of all variables, by name. kUninitialized if a variable has none.
absl::StatusOr<NamedTensors> ReadVariables(Session& session, const SaverNodes& nodes, const CallOptions& call = {});

// Assigns `values` to the variables of these names; others keep theirs, and unknown names are ignored.
absl::Status AssignVariables(Session& session, const SaverNodes& nodes, const NamedTensors& values,
                             const CallOptions& call = {});

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_SAVER_NODES_H_
