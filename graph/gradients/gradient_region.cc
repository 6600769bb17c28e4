#include "graph/gradients/gradient_region.h"

#include <optional>

#include "graph/gradients/gradient.h"
#include "graph/ir/op_class.h"

namespace sluice {

GradientRegion::GradientRegion(const Graph& graph, absl::Span<const Output> ys, absl::Span<const Output> xs,
                               absl::Span<const Output> stop)
    : index_(static_cast<size_t>(graph.id_limit()), -1) {
  for (const Output& x : xs) xs_.insert(x);
  for (const Output& output : stop) stops_.insert(output);
  FindNodes(graph, ys);
  is_reached_.assign(nodes_.size(), false);
  is_special_.assign(nodes_.size(), false);
  num_uses_.assign(nodes_.size(), 0);
  for (const absl::Span<const Output> outputs : {xs, stop}) {
    for (const Output& output : outputs) {
      if (Contains(output.node)) is_special_[static_cast<size_t>(IndexOf(output.node))] = true;
    }
  }
  MarkReached(graph);
  CountUses(graph);
}

bool GradientRegion::IsWanted(const Output& output) const {
  const int32_t at = IndexOf(output.node);
  if (at < 0) return false;
  if (!is_special_[static_cast<size_t>(at)]) return is_reached_[static_cast<size_t>(at)];
  return IsX(output) || (is_reached_[static_cast<size_t>(at)] && !IsStop(output));
}

bool GradientRegion::MayFlow(const Graph& graph, const Output& source) const {
  return IsDifferentiable(graph.output_type(source.node, source.index)) && (!IsStop(source) || IsX(source));
}

void GradientRegion::FindNodes(const Graph& graph, absl::Span<const Output> ys) {
  const auto visit = [&](NodeId id) {
    int32_t& place = index_[static_cast<size_t>(id.value())];
    if (place >= 0) return;
    place = static_cast<int32_t>(nodes_.size());
    nodes_.push_back(id);
  };
  std::optional<StackLinks> links;
  for (const Output& y : ys) visit(y.node);
  for (size_t next = 0; next < nodes_.size(); ++next) {
    const NodeId id = nodes_[next];
    if (IsControlFlow(graph.op(id).op_class)) has_control_flow_ = true;
    for (const Output& input : graph.inputs(id)) {
      if (MayFlow(graph, input)) visit(input.node);
    }
    if (!StackLinks::IsPop(graph, id) || !IsDifferentiable(graph.output_type(id, 0))) continue;
    if (!links.has_value()) links.emplace(graph);
    const NodeId push = links->PushOf(id);
    if (!push.valid()) continue;
    has_control_flow_ = true;
    stacks_.push_back({push, id});
    visit(push);
  }
}

void GradientRegion::MarkReached(const Graph& graph) {
  // The uses of each node, as two arrays.
  BigVector<uint32_t> starts(nodes_.size() + 1, 0);
  const auto for_each_edge = [&](const auto& use) {
    for (size_t at = 0; at < nodes_.size(); ++at) {
      for (const Output& input : graph.inputs(nodes_[at])) {
        if (MayFlow(graph, input)) use(static_cast<size_t>(IndexOf(input.node)), static_cast<int32_t>(at), input.index);
      }
    }
    for (const StackLink& stack : stacks_) use(static_cast<size_t>(IndexOf(stack.push)), IndexOf(stack.pop), 0);
  };
  for_each_edge([&](size_t source, int32_t, int32_t) { ++starts[source + 1]; });
  for (size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  BigVector<Edge> edges(starts.back());
  BigVector<uint32_t> next(starts.begin(), starts.end() - 1);
  for_each_edge([&](size_t source, int32_t consumer, int32_t slot) { edges[next[source]++] = {consumer, slot}; });

  BigVector<int32_t> queue;
  const auto reach = [&](int32_t at) {
    if (is_reached_[static_cast<size_t>(at)]) return;
    is_reached_[static_cast<size_t>(at)] = true;
    queue.push_back(at);
  };
  const auto reach_users = [&](size_t at, const auto& flows) {
    for (uint32_t i = starts[at]; i < starts[at + 1]; ++i) {
      if (flows(Output{nodes_[at], edges[i].slot})) reach(edges[i].consumer);
    }
  };
  HashSet<NodeId> linked;
  for (const StackLink& stack : stacks_) linked.insert(stack.pop);
  for (size_t at = 0; at < nodes_.size(); ++at) {
    // A pop whose push is unknown counts as reached: a gradient that arrives there is refused, not lost.
    if (StackLinks::IsPop(graph, nodes_[at]) && !linked.contains(nodes_[at])) reach(static_cast<int32_t>(at));
    if (is_special_[at]) reach_users(at, [&](const Output& output) { return IsX(output); });
  }
  for (size_t i = 0; i < queue.size(); ++i) {
    reach_users(static_cast<size_t>(queue[i]), [&](const Output& output) { return !IsStop(output); });
  }
}

void GradientRegion::CountUses(const Graph& graph) {
  for (size_t at = 0; at < nodes_.size(); ++at) {
    if (!is_reached_[at]) continue;
    for (const Output& input : graph.inputs(nodes_[at])) {
      if (MayFlow(graph, input) && IsWanted(input)) ++num_uses_[static_cast<size_t>(IndexOf(input.node))];
    }
  }
  for (const StackLink& stack : stacks_) {
    if (IsReached(stack.pop) && IsWanted({stack.push, 0})) ++num_uses_[static_cast<size_t>(IndexOf(stack.push))];
  }
}

}  // namespace sluice
