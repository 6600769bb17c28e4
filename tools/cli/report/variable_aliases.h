#ifndef SLUICE_TOOLS_CLI_REPORT_VARIABLE_ALIASES_H_
#define SLUICE_TOOLS_CLI_REPORT_VARIABLE_ALIASES_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/load/load_graph.h"

namespace sluice {

// Which variables of a SavedModel its signatures read. Keras 3 lists each variable several times ("conv/kernel",
// "conv/kernel_1"), of which they read one.
struct VariableAliases {
  absl::flat_hash_set<NodeId> read;           // Handles that a signature's results depend on.
  absl::flat_hash_map<NodeId, NodeId> meant;  // By a handle that none reads: the one that is read in its place.
};

// A handle that no signature reads stands for the one that is read whose name, numbers at its end apart, dtype and
// shape are the same, where there is just one. Both are empty for a model without signatures. Linear in the graph.
VariableAliases FindVariableAliases(const LoadedGraph& model);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_VARIABLE_ALIASES_H_
