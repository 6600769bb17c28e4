#ifndef SLUICE_GRAPH_IR_CONTROL_FLOW_CHECK_H_
#define SLUICE_GRAPH_IR_CONTROL_FLOW_CHECK_H_

// Frames nest and match: which nodes run in which loop, and whether the loops are sound.
//
// Note [Static frames]
// An Enter opens the frame that its attr frame_name says, inside the frame its input comes from; an Exit leaves its
// frame for the parent; every other node runs where its inputs are, data and control alike, and a node without inputs
// runs in the root frame (index 0, no name). By convention an Enter belongs to the frame it opens and an Exit to the
// frame it leaves. At run time each entry into a frame and each iteration is an instance of its own; the static frames
// are what the partitioner, the frame plan and `sluice show` work from.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/limits.h"
#include "graph/ir/graph.h"

namespace sluice {

// One loop of a graph, or (index 0) what stands outside of all loops. A value type.
struct StaticFrame {
  std::string name;                 // Attr frame_name of its Enters; empty for the root.
  int32_t parent = -1;              // Index of the frame around it; -1 for the root.
  int32_t depth = 0;                // 0 for the root.
  int64_t parallel_iterations = 1;  // Of its first Enter, cut to LoadLimits::max_parallel_iterations.
  int64_t num_nodes = 0;
  std::vector<NodeId> nodes;   // In topological order, Enters and Exits included. Left empty for the root.
  std::vector<NodeId> enters;  // By ascending id, like exits.
  std::vector<NodeId> exits;
  NodeId loop_cond;  // The first LoopCond; unset (negative) if the loop has none.
};

// The static frames of one graph, as it was when this was built. A value type.
struct ControlFlowInfo {
  std::vector<StaticFrame> frames;  // Parents before children; at least the root.
  std::vector<int32_t> frame_of;    // By node id; -1 for removed nodes. Empty when has_frames is false.
  bool has_frames = false;          // Whether any Enter, Exit, NextIteration or LoopCond is there.

  // Index of the frame that `id` belongs to.
  int32_t frame(NodeId id) const { return has_frames ? frame_of[static_cast<size_t>(id.value())] : 0; }
};

// Assigns every node to its frame and checks all rules: kFrame, kFrameMixed, kFrameParent, kFrameName, kLoopCond,
// kNextIteration, kParallelIterations, kLimitFrames naming the node, all that were found at once (AllErrors); kCycle
// when nodes wait for each other. Linear and not recursive; one look at each node when there are no loops.
absl::StatusOr<ControlFlowInfo> BuildControlFlowInfo(const Graph& graph, const LoadLimits& limits);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_CONTROL_FLOW_CHECK_H_
