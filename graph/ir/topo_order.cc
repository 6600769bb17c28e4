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

// Whether the nodes from id `first` on have an order, given that no other node waits for them. Walks inputs in depth,
// with a list instead of calls.
bool HasOrderFrom(const Graph& graph, int32_t first) {
  enum class State : char { kUnseen, kOpen, kDone };
  std::vector<State> states(static_cast<size_t>(graph.id_limit() - first), State::kUnseen);
  std::vector<NodeId> open;
  bool has_cycle = false;
  for (int32_t i = first; i < graph.id_limit() && !has_cycle; ++i) {
    if (graph.Contains(NodeId(i))) open.push_back(NodeId(i));
    while (!open.empty() && !has_cycle) {
      const NodeId id = open.back();
      State& state = states[At(id) - static_cast<size_t>(first)];
      if (state != State::kUnseen) {  // Seen from elsewhere meanwhile, or all that it waits for is done.
        state = State::kDone;
        open.pop_back();
        continue;
      }
      state = State::kOpen;
      ForEachForwardInput(graph, id, [&](NodeId input) {
        if (input.value() < first) return;
        const State of_input = states[At(input) - static_cast<size_t>(first)];
        has_cycle = has_cycle || of_input == State::kOpen;
        if (of_input == State::kUnseen) open.push_back(input);
      });
    }
  }
  return !has_cycle;
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

absl::Status CheckAcyclic(const Graph& graph, int32_t first) {
  bool in_order = true;
  for (int32_t i = first; i < graph.id_limit() && in_order; ++i) {
    if (!graph.Contains(NodeId(i))) continue;
    for (const Output& input : graph.all_inputs(NodeId(i))) {
      if (input.node.value() < i) continue;
      in_order = graph.Contains(input.node) && IsBackEdge(graph, NodeId(i), input);
      if (!in_order) break;
    }
  }
  const bool is_right = in_order || (first > 0 && HasOrderFrom(graph, first));
  return is_right ? absl::OkStatus() : TopologicalOrder(graph).status();
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
