#ifndef SLUICE_GRAPH_EDIT_LIVE_USES_H_
#define SLUICE_GRAPH_EDIT_LIVE_USES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "graph/base/big_vector.h"
#include "graph/ir/consumers.h"
#include "graph/ir/graph.h"

namespace sluice {

// The users of each node's outputs, kept up to date while the graph is changed: whatever changes the inputs of a node
// calls Unlink before and Link after (GraphEditor does). Edges lie in lists by producer and by consumer, so that both
// calls cost what the node's own inputs do, however many uses a producer has. After a call that threw it is good for
// nothing but to be destroyed. Thread-safety: const methods from any thread.
class LiveUses {
 public:
  explicit LiveUses(const Graph& graph);

  // The uses of `id`, in the order of Consumers whatever the order of changes was. A copy: the graph may be changed
  // while it is walked.
  std::vector<Use> Of(NodeId id) const;
  // Of the output only (or, with kControlIndex, of the node as a control predecessor).
  std::vector<Use> Of(const Output& output) const;
  bool IsUsed(NodeId id) const { return HeadOf(id) >= 0; }
  // One past the largest id that was linked.
  int32_t id_limit() const { return static_cast<int32_t>(nodes_.size()); }

  // Adds the edges into `id` as they are in `graph`. REQUIRES: none of them is there.
  void Link(const Graph& graph, NodeId id);
  // Takes out the edges into `id` that were linked.
  void Unlink(NodeId id);

  // OK when this is what the graph says; kInternal with the first node where it is not.
  absl::Status Check(const Graph& graph) const;

 private:
  // An edge, or (in the list of free_) a place for one. Links are indices into edges_; -1: none.
  struct Edge {
    Use use;
    int32_t producer = -1;
    int32_t next_use = -1, previous_use = -1;  // Of the producer.
    int32_t next_input = -1;                   // Of the consumer.
  };
  struct Lists {
    int32_t uses = -1;
    int32_t inputs = -1;
  };

  template <typename Wanted>
  std::vector<Use> Collect(NodeId id, const Wanted& wanted) const;
  int32_t HeadOf(NodeId id) const {
    return id.value() >= 0 && id.value() < id_limit() ? nodes_[static_cast<size_t>(id.value())].uses : -1;
  }
  Edge& At(int32_t edge) { return edges_[static_cast<size_t>(edge)]; }
  const Edge& At(int32_t edge) const { return edges_[static_cast<size_t>(edge)]; }
  Lists& ListsOf(int32_t node) { return nodes_[static_cast<size_t>(node)]; }

  BigVector<Lists> nodes_;  // By id.
  BigVector<Edge> edges_;
  int32_t free_ = -1;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_EDIT_LIVE_USES_H_
