#ifndef SLUICE_FRAMES_GRAPH_VIEW_BUILDER_H_
#define SLUICE_FRAMES_GRAPH_VIEW_BUILDER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frames/graph_view.h"

namespace sluice {

// Makes one GraphView: linear in nodes and edges, a handful of walks over the nodes. Lives for one call of
// GraphView::Create and borrows what that was given. Not thread-safe.
class GraphViewBuilder {
 public:
  GraphViewBuilder(const Graph& graph, const ControlFlowInfo& frames, absl::Span<const NodeFacts> facts, StopPoll* stop)
      : graph_(graph), info_(frames), facts_(facts), stop_(stop) {}

  absl::StatusOr<GraphView> Build();

 private:
  // An edge with its source, before edges are sorted by that.
  struct PlacedEdge {
    uint32_t src;
    EdgeInfo edge;
  };

  NodeId node(uint32_t item) const { return nodes_[item]; }
  uint32_t item_of(NodeId id) const { return item_of_[static_cast<size_t>(id.value())]; }
  NodeItem& item(uint32_t index) { return view_.items_[index]; }
  const NodeFacts& facts(uint32_t item) const { return facts_[static_cast<size_t>(nodes_[item].value())]; }
  uint32_t& uses(const Output& output) {
    return uses_[view_.extras_[item_of(output.node)].first_output + static_cast<uint32_t>(output.index)];
  }
  bool IsUncountedConst(uint32_t index) const {
    return view_.items_[index].kind == NodeKind::kConst && !is_counted_const_[index];
  }

  // Calls `visit` with every item, and polls.
  template <typename Visit>
  absl::Status ForEachItem(const Visit& visit);

  // The steps, in this order.
  void IndexNodes();
  absl::Status CheckSizes() const;
  absl::Status Allocate();
  void MakeFrames();
  void MarkSlotConsts();
  void MakeItem(uint32_t index);
  void MarkCountedConsts();
  void PlaceOutputs(uint32_t index);
  void PlaceInputs(uint32_t index);
  void CollectEdges(uint32_t index);
  void CollectMergeEdges(uint32_t index);
  void AddEdge(uint32_t src, uint32_t dst, int32_t output, uint32_t input);
  void SortEdges();
  void MakeCounter(uint32_t index);
  void SetFlags(uint32_t index);

  const Graph& graph_;
  const ControlFlowInfo& info_;
  const absl::Span<const NodeFacts> facts_;
  StopPoll* const stop_;

  GraphView view_;
  std::vector<NodeId> nodes_;      // By item.
  std::vector<uint32_t> item_of_;  // By node id.
  uint64_t num_inputs_ = 0, num_outputs_ = 0, num_controls_ = 0;
  uint32_t num_constants_ = 0, constants_placed_ = 0;
  std::vector<bool> is_counted_const_;  // By item.
  bool has_grad_sum_ = false;
  std::vector<bool> is_slot_const_;  // By item; empty without a GradSum.
  std::vector<uint32_t> uses_;       // By output.
  std::vector<PlacedEdge> placed_;
  std::vector<uint32_t> num_in_edges_;     // By item: counted ones.
  std::vector<uint32_t> num_controls_in_;  // Of Merges.
  // The last item for which an edge of this output, or of this node, was seen: to find repetitions.
  std::vector<uint32_t> output_seen_by_, node_seen_by_;
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_GRAPH_VIEW_BUILDER_H_
