#ifndef SLUICE_GRAPH_PLACEMENT_CONTROL_LOOPS_H_
#define SLUICE_GRAPH_PLACEMENT_CONTROL_LOOPS_H_

// Loops that run on several devices.
//
// Note [Control loops]
// A Recv has no inputs, so in a device's part of the graph it would be outside of the loop and fire once. Hence every
// device that receives a value of a frame gets a loop of its own for that frame, which carries no value and iterates as
// often as the real one: Enter -> Merge -> Switch -> NextIteration -> Merge, with
// the frame's LoopCond, itself a received value, to tell the Switch when to stop. Every Recv of the frame waits for
// that Merge and so fires once per iteration. Loops in loops: the inner Enter is fed by the outer Merge, the outermost
// one by a constant. A device that receives nothing of a frame but has nodes in it, which then use loop invariants
// only, needs such a loop, too, unless a NextIteration of its own begins its iterations. What counts is the frame of
// the value: that of its producer or, for an Exit, the frame outside the loop. (The original looks at the frames of
// producer and consumer and adds nothing where they differ, so that a value that leaves an inner loop on one device for
// an outer loop on another is received once only, and it adds nothing where nothing is received.)

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/hash_table.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/graph.h"

namespace sluice {

// Moves control-flow nodes to where their data is: a Switch to its data input, an Exit to its input, an Enter (of a
// value) and a NextIteration to their first consumer. Saves crossings, and keeps loops that belong to one device on it.
// kCycle for a graph that has no order.
absl::Status ColocateControlFlow(Graph& graph);

// Whether `id` is the Merge of a control loop.
bool IsControlLoopMerge(const Graph& graph, NodeId id);

// The control loops of a graph.
class ControlLoops {
 public:
  ControlLoops() = default;  // No loops.
  // Adds to `graph`, all of whose nodes have devices, the control loops that its edges between devices need.
  // `info` is that of `graph` before. kPartition for a frame without LoopCond that spans devices.
  static absl::StatusOr<ControlLoops> Add(const ControlFlowInfo& info, Graph& graph);

  // The Merge that a Recv on `device` of a value of `source` must wait for; invalid outside of loops.
  NodeId Trigger(NodeId source, absl::string_view device) const {
    const int32_t frame = ValueFrame(source);
    if (frame == 0) return NodeId();
    const auto found = merges_.find({frame, device});
    return found == merges_.end() ? NodeId() : found->second;
  }

 private:
  struct Loop {
    NodeId enter, merge;
  };

  explicit ControlLoops(const ControlFlowInfo& info) : info_(&info) {}
  int32_t ValueFrame(NodeId id) const {
    return value_frames_.empty() ? 0 : value_frames_[static_cast<size_t>(id.value())];
  }
  void FindValueFrames(const Graph& graph);
  absl::Status AddForReceivers(Graph& graph);
  absl::Status AddForInvariants(Graph& graph);
  absl::Status AddFor(int32_t frame, NodeId consumer, Graph& graph);
  absl::StatusOr<Loop> AddLoop(int32_t frame, NodeId consumer, Graph& graph);
  absl::StatusOr<NodeId> AddNode(int32_t frame, NodeId consumer, absl::string_view op, std::vector<Output> inputs,
                                 std::vector<std::pair<std::string, AttrValue>> attrs, Graph& graph);

  const ControlFlowInfo* info_ = nullptr;  // During Add only.
  std::vector<int32_t> value_frames_;      // By id, new nodes included; empty in graphs without frames.
  HashMap<std::pair<int32_t, absl::string_view>, NodeId> merges_;  // By frame and device.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_CONTROL_LOOPS_H_
