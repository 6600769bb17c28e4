#ifndef SLUICE_TOOLS_CLI_REPORT_CONTAINED_OPS_H_
#define SLUICE_TOOLS_CLI_REPORT_CONTAINED_OPS_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"

namespace sluice {

// Finds nodes that have an op of some kind, or call functions whose bodies have one, at any depth. Borrows the graph.
// The constructor is linear in the library, a question in the node's attrs.
class ContainedOps {
 public:
  using IsWanted = bool (*)(absl::string_view op);

  ContainedOps(const Graph& graph, IsWanted is_wanted);

  bool In(NodeId id) const;

 private:
  const Graph& graph_;
  const IsWanted is_wanted_;
  absl::flat_hash_set<std::string> functions_;  // With a wanted op, directly or through calls.
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_CONTAINED_OPS_H_
