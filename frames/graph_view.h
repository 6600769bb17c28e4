#ifndef SLUICE_FRAMES_GRAPH_VIEW_H_
#define SLUICE_FRAMES_GRAPH_VIEW_H_

// The graph as a run sees it: compact, immutable, in one allocation.
//
// Note [Counted edges]
// A node fires when all its edges have delivered. To keep edges few:
//   - edges from one output to one ordinary node are merged, and a control edge parallel to a data edge is left out,
//     since it adds nothing; a Merge keeps all its edges;
//   - constants without control inputs deliver nothing: their values are in the constants table from the start, and
//     nodes that read nothing else are roots. Only a constant that a Merge reads counts as a node that runs;
//   - a node with one edge left has no counter: the first arrival makes it ready.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frames/frame_info.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/graph.h"
#include "graph/value/entry.h"

namespace sluice {

class Kernel;

// The facts that running a node needs. The propagators execute all but the first three kinds themselves.
enum class NodeKind : uint8_t {
  kKernel,
  kGradSum,  // A kernel that runs on its live inputs; dead if there are none.
  kAsyncKernel,
  kConst,    // The value is in the constants table; nothing to do.
  kForward,  // Identity and similar ops, without references; LoopCond.
  kNoOp,
  kSwitch,  // Also RefSwitch.
  kSwitchN,
  kMerge,  // Also RefMerge, like those below.
  kEnter,
  kExit,
  kNextIteration,
  kControlTrigger,
};

// Whether the caller of a propagator runs such nodes when they are live.
constexpr bool RunsKernel(NodeKind kind) { return kind <= NodeKind::kAsyncKernel; }

// Facts about a node that the executor supplies and this directory does not interpret. A value type.
struct NodeFacts {
  const Kernel* kernel = nullptr;
  const Tensor* constant = nullptr;  // The value of its only output, if that never changes.
  bool is_async = false;
  bool is_forward = false;  // Hands its only input on.
  uint8_t cost_hint = 0;    // Kept for the executor.
};

// One edge out of a node.
struct EdgeInfo {
  EdgeInfo() : input(0), is_inner(0) {}
  EdgeInfo(uint32_t to, int32_t from_output, uint32_t to_input)
      : dst(to), output(from_output), input(to_input & 0x7fffffffu), is_inner(0) {}

  uint32_t dst = 0;       // An item.
  int32_t output = -1;    // Of the source; -1 for a control edge.
  uint32_t input : 31;    // Of the destination; matters for Merges.
  uint32_t is_inner : 1;  // From a Switch into its port's cone: not notified when that is dead (Note [Dead cones]).

  bool is_control() const { return output < 0; }
};

// One node: a cache line. Immutable.
struct alignas(64) NodeItem {
  enum Flag : uint16_t {
    kPlainEdges = 1,     // All destinations are ordinary nodes.
    kCountsUses = 2,     // Some output does not have exactly one reader: see GraphView::uses.
    kTransfer = 4,       // Send and Recv: runs even when dead.
    kDerefsInputs = 8,   // Takes the value of some reference: see GraphView::derefs.
    kHasRefInputs = 16,  // Some input must be a reference.
    kConstantEnter = 32,
    kTakesUninitialized = 64,  // The op may be given references without a value.
    kIsRefMade = 128,          // Some output is a reference.
    kLeadsCones = 256,         // Settles the cones of its ports; see Note [Dead cones].
    kIndexIsRead = 512,        // Of a Merge: its second output has readers.
  };

  NodeIo io;
  const Kernel* kernel = nullptr;
  uint32_t first_edge = 0;
  uint32_t num_edges = 0;
  PendingCounts::Handle counter;  // Unset: the first arrival makes the node ready.
  NodeKind kind = NodeKind::kNoOp;
  uint8_t cost_hint = 0;
  uint16_t flags = 0;

  bool is(Flag flag) const { return (flags & flag) != 0; }
};

static_assert(sizeof(NodeItem) == 64, "an item is one cache line");

// The facts about a node that are not needed each time it runs.
struct NodeExtra {
  int32_t frame = 0;                 // Where it runs. An Enter runs in the parent of the frame it opens.
  int32_t child_frame = -1;          // Of an Enter.
  uint32_t first_output = 0;         // In the list of uses.
  union {                            // By the node's kind.
    uint32_t exit_number = 0;        // Of an Exit: among those of its frame.
    uint32_t next_iteration_number;  // Of a NextIteration: among those of its frame.
    uint32_t first_cone;             // Of a leader of cones: that of port 0.
  };
  // Data inputs that can be dead; ~0 if one input is a constant, so that the number of dead inputs never reaches it.
  uint32_t num_counted_data = 0;
  uint32_t first_deref = 0, num_derefs = 0;
};

// An input that is the value of a reference: copied from `source` to scratch entry `scratch` before the node runs.
struct Deref {
  Operand source;
  uint32_t input = 0;
  uint32_t scratch = 0;
};

// An edge that leads out of a cone.
struct BorderEdge {
  uint32_t src = 0;   // An item.
  uint32_t edge = 0;  // In the list of all edges.
};

// See the top of this file. Kernels, the graph (names, types) and constants' buffers must outlive it.
// Immutable; thread-safe.
class GraphView {
 public:
  // `facts` by node id; `stop` may be null. INVALID_ARGUMENT or RESOURCE_EXHAUSTED for graphs that are too large for
  // 32-bit indices.
  static absl::StatusOr<GraphView> Create(const Graph& graph, const ControlFlowInfo& frames,
                                          absl::Span<const NodeFacts> facts, StopPoll* stop = nullptr);
  GraphView(GraphView&&) noexcept = default;
  GraphView& operator=(GraphView&&) noexcept = default;

  uint32_t num_items() const { return num_items_; }
  const NodeItem& item(uint32_t index) const { return items_[index]; }
  uint32_t index(const NodeItem& item) const { return static_cast<uint32_t>(&item - items_); }
  const NodeExtra& extra(const NodeItem& item) const { return extras_[index(item)]; }
  absl::Span<const EdgeInfo> edges(const NodeItem& item) const { return {edges_ + item.first_edge, item.num_edges}; }
  // How many inputs read output `i`.
  uint32_t uses(const NodeItem& item, uint32_t i) const { return uses_[extra(item).first_output + i]; }
  absl::Span<const Deref> derefs(const NodeItem& item) const {
    return {derefs_.data() + extra(item).first_deref, extra(item).num_derefs};
  }
  // Of a leader: the edges out of the cone of `port`.
  absl::Span<const BorderEdge> border(const NodeItem& leader, uint32_t port) const {
    const Cone& cone = cones_[extra(leader).first_cone + port];
    return {border_.data() + cone.first, cone.count};
  }
  bool leaves_values(const NodeItem& leader, uint32_t port) const {
    return cones_[extra(leader).first_cone + port].leaves_values;
  }
  const EdgeInfo& edge(uint32_t index) const { return edges_[index]; }
  // Scratch entries that a node may need.
  uint32_t num_scratch() const { return num_scratch_; }

  // Nodes that are ready at the start, in ascending order. All are in the root frame.
  const std::vector<uint32_t>& roots() const { return roots_; }
  // Parents before children; 0 is the root.
  const std::vector<FrameInfo>& frames() const { return frames_; }
  // Whether there are loops: FramedPropagator must run such a graph.
  bool has_frames() const { return frames_.size() > 1; }
  // Must not be written; not const because EntryTables are not.
  Entry* constants() const { return constants_; }

 private:
  friend class GraphViewBuilder;
  friend class DeadConeFinder;
  // The nodes that are dead when one port is.
  struct Cone {
    uint32_t first = 0, count = 0;  // In border_.
    bool leaves_values = false;     // Its nodes read outside values, which no one takes when the cone is dead.
  };
  // Destroys the constants in the block and frees it.
  struct FreeBlock {
    FreeBlock() {}  // NOLINT: needed complete where the class is.
    FreeBlock(Entry* entries, uint32_t count, size_t size) : constants(entries), num_constants(count), bytes(size) {}

    Entry* constants = nullptr;
    uint32_t num_constants = 0;
    size_t bytes = 0;
    void operator()(char* block) const;
  };

  GraphView() = default;

  std::unique_ptr<char, FreeBlock> block_;  // The pointers below point into it.
  NodeItem* items_ = nullptr;
  NodeExtra* extras_ = nullptr;
  EdgeInfo* edges_ = nullptr;
  Operand* operands_ = nullptr;
  uint32_t* uses_ = nullptr;
  Entry* constants_ = nullptr;
  uint32_t num_items_ = 0;
  uint32_t num_scratch_ = 0;
  std::vector<uint32_t> roots_;
  std::vector<FrameInfo> frames_;
  std::vector<Deref> derefs_;
  std::vector<Cone> cones_;
  std::vector<BorderEdge> border_;
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_GRAPH_VIEW_H_
