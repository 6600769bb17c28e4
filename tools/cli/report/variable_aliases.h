#ifndef SLUICE_TOOLS_CLI_REPORT_VARIABLE_ALIASES_H_
#define SLUICE_TOOLS_CLI_REPORT_VARIABLE_ALIASES_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/load/load_graph.h"

namespace sluice {

// The variables that a SavedModel's signatures read. Keras 3 lists each variable several times ("conv/kernel",
// "conv/kernel_1"), of which signatures read one.
struct VariableAliases {
  absl::flat_hash_set<NodeId> read;           // Handles that a signature's results depend on.
  absl::flat_hash_map<NodeId, NodeId> meant;  // By unread handle: the one that is read instead.
};

// An unread handle is an alias of the read one with the same name (without a number at its end), dtype and shape, if
// there is just one. Both are empty for a model without signatures. Linear in the graph.
VariableAliases FindVariableAliases(const LoadedGraph& model);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_VARIABLE_ALIASES_H_
