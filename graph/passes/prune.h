#ifndef SLUICE_GRAPH_PASSES_PRUNE_H_
#define SLUICE_GRAPH_PASSES_PRUNE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"
#include "graph/passes/pass.h"

namespace sluice {

// Returns a new graph of the nodes that `roots` need, in the order of `graph`. Linear in the nodes kept, plus a word
// per node. Sets `new_ids` (may be null) as ExtractNodes does.
Graph PruneTo(const Graph& graph, absl::Span<const NodeId> roots, std::vector<NodeId>* new_ids);

// The same by name: nodes or endpoints ("node:1" stands for its node). kFetchUnknown with near names.
absl::StatusOr<Graph> PruneToNames(const Graph& graph, absl::Span<const std::string> names);

// Removes, in place, every node that the roots and the kept nodes do not need; ids of the others stay. Roots that the
// graph does not have are ignored; without any root nothing is removed.
class PrunePass : public Pass {
 public:
  explicit PrunePass(std::vector<NodeId> roots) : roots_(std::move(roots)) {}

  absl::string_view name() const override { return "prune"; }
  absl::StatusOr<int64_t> Run(GraphEditor& edit, const PassContext& context) const override;

 private:
  const std::vector<NodeId> roots_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_PRUNE_H_
