#include "graph/ir/topo_order.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/consumers.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

size_t At(NodeId id) { return static_cast<size_t>(id.value()); }

// Inputs of `id` that must come before it.
template <typename Fn>
void ForEachForwardInput(const Graph& graph, NodeId id, Fn fn) {
  for (const Output& input : graph.all_inputs(id)) {
    if (graph.Contains(input.node) && !IsBackEdge(graph, id, input)) fn(input.node);
  }
}

// A cycle among the nodes that no order could take: walks inputs backwards until a node comes again.
absl::Status CycleError(const Graph& graph, const std::vector<int32_t>& waiting) {
  NodeId at(-1);
  for (int32_t i = 0; i < graph.id_limit() && at.value() < 0; ++i) {
    if (waiting[static_cast<size_t>(i)] > 0) at = NodeId(i);
  }
  std::vector<int32_t> seen_at(waiting.size(), -1);
  std::vector<NodeId> path;
  while (seen_at[At(at)] < 0) {
    seen_at[At(at)] = static_cast<int32_t>(path.size());
    path.push_back(at);
    NodeId next(-1);
    ForEachForwardInput(graph, at, [&](NodeId input) {
      if (waiting[At(input)] > 0 && next.value() < 0) next = input;
    });
    at = next;
  }
  path.erase(path.begin(), path.begin() + seen_at[At(at)]);
  std::reverse(path.begin(), path.end());  // From producer to consumer.
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  path.push_back(path.front());
  std::string text;
  const size_t shown = std::min<size_t>(path.size(), 12);
  for (size_t i = 0; i < shown; ++i) absl::StrAppend(&text, i == 0 ? "" : " -> ", PrintableName(graph.name(path[i])));
  if (shown < path.size()) absl::StrAppend(&text, " -> ... (", path.size() - 1, " nodes)");
  return graph.Locate(path.front(), Error(ErrorCode::kCycle)
                                        .Text(absl::StrCat("is part of a cycle: ", text))
                                        .Expected("cycles only through NextIteration into Merge"));
}

}  // namespace

bool IsBackEdge(const Graph& graph, NodeId id, const Output& source) {
  return !source.is_control() && graph.op(id).op_class == OpClass::kMerge && graph.Contains(source.node) &&
         graph.op(source.node).op_class == OpClass::kNextIteration;
}

absl::StatusOr<std::vector<NodeId>> TopologicalOrder(const Graph& graph) {
  std::vector<int32_t> waiting(static_cast<size_t>(graph.id_limit()), 0);
  std::vector<NodeId> order;
  order.reserve(graph.num_nodes());
  const std::vector<NodeId> nodes = graph.Nodes();
  for (NodeId id : nodes) {
    ForEachForwardInput(graph, id, [&](NodeId) { ++waiting[At(id)]; });
    if (waiting[At(id)] == 0) order.push_back(id);
  }
  const Consumers consumers(graph);
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Use& use : consumers.of(order[i])) {
      if (IsBackEdge(graph, use.node, Output{order[i], use.slot})) continue;
      if (--waiting[At(use.node)] == 0) order.push_back(use.node);
    }
  }
  if (order.size() != nodes.size()) return CycleError(graph, waiting);
  return order;
}

absl::Status CheckAcyclic(const Graph& graph) {
  bool in_order = true;
  for (int32_t i = 0; i < graph.id_limit() && in_order; ++i) {
    if (!graph.Contains(NodeId(i))) continue;
    for (const Output& input : graph.all_inputs(NodeId(i))) {
      if (input.node.value() < i) continue;
      in_order = graph.Contains(input.node) && IsBackEdge(graph, NodeId(i), input);
      if (!in_order) break;
    }
  }
  return in_order ? absl::OkStatus() : TopologicalOrder(graph).status();
}

std::vector<bool> ReverseReachable(const Graph& graph, absl::Span<const NodeId> roots) {
  std::vector<bool> reached(static_cast<size_t>(graph.id_limit()), false);
  std::vector<NodeId> open;
  const auto visit = [&](NodeId id) {
    if (!graph.Contains(id) || reached[At(id)]) return;
    reached[At(id)] = true;
    open.push_back(id);
  };
  for (NodeId root : roots) visit(root);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    for (const Output& input : graph.all_inputs(id)) visit(input.node);
  }
  return reached;
}

}  // namespace sluice
