#include "graph/passes/prune.h"

#include <algorithm>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/extract.h"
#include "graph/ir/tensor_id.h"
#include "graph/ir/topo_order.h"
#include "graph/passes/endpoint_resolver.h"

namespace sluice {

Graph PruneTo(const Graph& graph, absl::Span<const NodeId> roots, std::vector<NodeId>* new_ids) {
  std::vector<bool> seen(static_cast<size_t>(graph.id_limit()), false);
  std::vector<NodeId> kept;
  const auto visit = [&](NodeId id) {
    if (!graph.Contains(id) || seen[static_cast<size_t>(id.value())]) return;
    seen[static_cast<size_t>(id.value())] = true;
    kept.push_back(id);
  };
  for (NodeId root : roots) visit(root);
  for (size_t next = 0; next < kept.size(); ++next) {
    for (const Output& input : graph.all_inputs(kept[next])) visit(input.node);
  }
  std::sort(kept.begin(), kept.end());
  std::vector<NodeId> ids;
  return ExtractNodes(graph, kept, new_ids != nullptr ? new_ids : &ids);
}

absl::StatusOr<Graph> PruneToNames(const Graph& graph, absl::Span<const std::string> names) {
  std::vector<NodeId> roots;
  ErrorCollector errors;
  for (const std::string& name : names) {
    const NodeId id = graph.Find(ParseTensorId(name).node);
    if (graph.Contains(id)) {
      roots.push_back(id);
    } else {
      errors.Add(UnknownEndpoint(graph, ErrorCode::kFetchUnknown, "fetch", name));
    }
  }
  const absl::Status status = errors.Finish();
  if (!status.ok()) return status;
  return PruneTo(graph, roots, nullptr);
}

absl::StatusOr<int64_t> PrunePass::Run(GraphEditor& edit, const PassContext& context) const {
  const Graph& graph = edit.graph();
  std::vector<NodeId> roots;
  for (const std::vector<NodeId>* some : {&roots_, &context.keep()}) {
    for (const NodeId id : *some) {
      if (graph.Contains(id)) roots.push_back(id);
    }
  }
  if (roots.empty()) return 0;
  const std::vector<bool> needed = ReverseReachable(graph, roots);
  std::vector<NodeId> unused;
  for (NodeId id : graph.Nodes()) {
    if (!needed[static_cast<size_t>(id.value())]) unused.push_back(id);
  }
  SLUICE_RETURN_IF_ERROR(edit.RemoveAll(unused));
  return static_cast<int64_t>(unused.size());
}

}  // namespace sluice
