#ifndef SLUICE_GRAPH_GRADIENTS_GRADIENT_REGION_H_
#define SLUICE_GRAPH_GRADIENTS_GRADIENT_REGION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/base/big_vector.h"
#include "graph/base/hash_table.h"
#include "graph/gradients/stack_links.h"
#include "graph/ir/graph.h"

namespace sluice {

// The part of a graph between xs and ys: which outputs need a gradient, and how many uses of a node give it one. Made
// in time linear in what ys depend on, without recursion. Only values of types that have gradients (IsDifferentiable)
// count. A pop depends on the push of its stack: see stacks(). An immutable value.
class GradientRegion {
 public:
  GradientRegion(const Graph& graph, absl::Span<const Output> ys, absl::Span<const Output> xs,
                 absl::Span<const Output> stop);

  // Nodes that ys depend on, ys themselves included, in no particular order.
  absl::Span<const NodeId> nodes() const { return nodes_; }
  bool Contains(NodeId id) const { return IndexOf(id) >= 0; }
  // The place of the node in nodes(), or -1.
  int32_t IndexOf(NodeId id) const {
    return static_cast<size_t>(id.value()) < index_.size() ? index_[static_cast<size_t>(id.value())] : -1;
  }
  // Whether the node depends on an x, so that its inputs may have gradients.
  bool IsReached(NodeId id) const { return Contains(id) && is_reached_[static_cast<size_t>(IndexOf(id))]; }
  // Whether the output's gradient is needed: it is an x, or depends on one and is not a stop.
  bool IsWanted(const Output& output) const;
  // Whether an output of the node is an x or a stop.
  bool IsSpecial(NodeId id) const { return is_special_[static_cast<size_t>(IndexOf(id))]; }
  bool IsX(const Output& output) const { return xs_.contains(output); }
  bool IsStop(const Output& output) const { return !stops_.empty() && stops_.contains(output); }
  // How many inputs of reached nodes read outputs of this one that are wanted; of a push, its pop counts as one.
  int32_t num_uses(NodeId id) const { return num_uses_[static_cast<size_t>(IndexOf(id))]; }
  // Whether an Enter, Exit, Switch or the like is among the nodes.
  bool has_control_flow() const { return has_control_flow_; }
  // The stacks whose pops are among the nodes and whose pushes are known.
  absl::Span<const StackLink> stacks() const { return stacks_; }

 private:
  struct Edge {
    int32_t consumer = 0;  // A place in nodes_.
    int32_t slot = 0;
  };

  // Whether the source of the edge lets gradients flow along it.
  bool MayFlow(const Graph& graph, const Output& source) const;
  void FindNodes(const Graph& graph, absl::Span<const Output> ys);
  void MarkReached(const Graph& graph);
  void CountUses(const Graph& graph);

  HashSet<Output> xs_, stops_;
  BigVector<int32_t> index_;  // By node id.
  BigVector<NodeId> nodes_;
  std::vector<bool> is_reached_;  // By place in nodes_, like what follows.
  std::vector<bool> is_special_;  // An output is an x or a stop.
  BigVector<int32_t> num_uses_;
  bool has_control_flow_ = false;
  std::vector<StackLink> stacks_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_GRADIENT_REGION_H_
