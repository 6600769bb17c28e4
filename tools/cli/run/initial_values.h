#ifndef SLUICE_TOOLS_CLI_RUN_INITIAL_VALUES_H_
#define SLUICE_TOOLS_CLI_RUN_INITIAL_VALUES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "graph/load/load_graph.h"
#include "tools/cli/report/contained_ops.h"

namespace sluice {

// Finds nodes that give variables the values that training starts from (zeros, ones, random numbers), with which a
// model answers as untrained.
// Borrows the model. Linear in the graph per question. Not thread-safe.
class InitialValues {
 public:
  explicit InitialValues(const LoadedGraph& model);

  // Whether running the node or tensor `name` assigns such a value to a variable that the model's saver would restore
  // (to any variable, if the saver's are unknown).
  bool SetBy(absl::string_view name) const;

  // Returns a node that gives such a value to the variable that node `reader` reads, or is; empty if there is none.
  std::string InitOf(absl::string_view reader) const;

 private:
  absl::flat_hash_set<NodeId> RestoredVariables() const;
  // The nodes that `roots` need, themselves included.
  std::vector<NodeId> Needed(std::vector<NodeId> roots) const;
  // The variables that `id` assigns to: none, one, or those given to a function that assigns.
  std::vector<NodeId> AssignedBy(NodeId id) const;
  // By id: the nodes whose values depend on variables or feeds.
  std::vector<bool> VaryingNodes() const;
  // Whether `id` assigns a value that depends on variables or feeds, as a training step does: not an initial one.
  bool IsUpdate(NodeId id) const;
  // Whether the value that `id` assigns comes from a checkpoint.
  bool IsRestored(NodeId id) const;
  // The variable that `reference` leads to, through nodes that pass it on; invalid: none.
  NodeId VariableOf(Output reference) const;
  // Whether `value` was read from a checkpoint and passed on unchanged.
  bool ComesFromCheckpoint(Output value) const;

  const Graph& graph_;
  const ContainedOps assigns_, restores_;
  absl::flat_hash_set<NodeId> restored_;
  // Results of VariableOf and ComesFromCheckpoint by visited node: chained assignments share their paths.
  mutable absl::flat_hash_map<NodeId, NodeId> variable_of_;
  mutable absl::flat_hash_map<NodeId, bool> comes_from_checkpoint_;
  mutable std::vector<bool> varies_;  // The result of VaryingNodes, once needed.
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_INITIAL_VALUES_H_
