#ifndef SLUICE_TOOLS_CLI_TRAIN_TABLE_VALUES_H_
#define SLUICE_TOOLS_CLI_TRAIN_TABLE_VALUES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/session/session.h"
#include "graph/ir/graph.h"

namespace sluice {

// Nodes that read all entries of lookup tables which steps may change (MutableHashTable and its kin), and that replace
// them. By name, since a session has a copy of the graph.
struct TableNodes {
  std::vector<std::string> tables;        // Their nodes' names.
  std::vector<std::string> keys, values;  // The tensors with the entries of each; fed to replace them.
  std::vector<std::string> imports;       // The node that replaces them.
};

// Adds them, with names below "table_entries"/, for the mutable tables that one of `roots` needs, if any.
absl::StatusOr<TableNodes> AddTableNodes(Graph& graph, absl::Span<const NodeId> roots);

// The entries of all these tables, under names that no variable has ("sluice_table/NAME/keys" and ".../values").
absl::StatusOr<NamedTensors> ReadTables(Session& session, const TableNodes& nodes);

// Replaces the entries of the tables in `entries`; other tables keep theirs.
absl::Status AssignTables(Session& session, const TableNodes& nodes, const NamedTensors& entries);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TABLE_VALUES_H_
