#ifndef SLUICE_FRAMES_DEAD_CONES_H_
#define SLUICE_FRAMES_DEAD_CONES_H_

// Note [Dead cones]
// When a Switch sends its value one way, all nodes that depend only on the other port are dead, and walking through it
// would cost as much as running it. Which nodes are dead can be computed beforehand: a guard is a set of literals
// (predicate, port), and a node whose guard contains a literal is dead when that port is not taken. An ordinary node
// has the literals of all its inputs, a Merge those that all its inputs share, and the output of a Switch one more than
// the Switch.
//
// The cone of a literal is the set of nodes with it in their guard that are reached through nodes of the cone alone.
// All Switches of one predicate take the same port. The first of them, the leader, settles the cones of the other
// ports: each border edge, from a cone to a node outside of it, delivers a dead token, and the nodes inside are never
// visited. A node inside a cone lacks at least one arrival, so it cannot become ready through its other inputs.
//
// This holds where all Switches of a predicate run exactly when the predicate is there, and where the literals of a
// guard are nested (each predicate but the outermost is itself guarded by the literals before it), so that at most one
// of them is settled. A node for which that is not certain is left outside of cones and visited as usual.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "frames/graph_view.h"
#include "graph/base/hash_table.h"
#include "graph/ir/graph.h"

namespace sluice {

// Finds the cones of a graph and stores them in its GraphView, during the making of which it lives. Takes linear time,
// times the depth of guards, which is limited. Not thread-safe.
class DeadConeFinder {
 public:
  // `items` by node id.
  DeadConeFinder(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<uint32_t>& item_of,
                 GraphView* view)
      : graph_(graph), nodes_(nodes), item_of_(item_of), view_(*view) {}

  absl::Status Find();

 private:
  using Set = std::vector<int32_t>;  // Literals, outer ones first.
  static constexpr size_t kMaxLiterals = 8;
  static constexpr int32_t kEmpty = 0;  // The set without literals.

  // When a node is dead: if a literal of `set` is false, and, if `is_certain`, only then.
  struct Guard {
    int32_t set = kEmpty;
    bool is_certain = true;
  };
  // One port of all Switches with one predicate.
  struct Literal {
    uint32_t leader = 0;  // The first of these Switches.
    int32_t port = 0;
    NodeId predicate;
    int32_t predicate_set = kEmpty;
  };
  // Assumptions about a loop: it is entered as a whole or not at all, and goes around as a whole.
  struct Loop {
    bool is_uniform = true;
    bool has_enter = false, has_next = false;
    Guard enter, next;
  };

  const NodeItem& item(uint32_t index) const { return view_.items_[index]; }
  uint32_t item_of(NodeId id) const { return item_of_[static_cast<size_t>(id.value())]; }
  Loop& loop(int32_t frame) { return loops_[static_cast<size_t>(frame)]; }

  // Walks over all nodes once. Returns false if an assumption about a loop failed, which is then dropped.
  bool ComputeGuards();
  void ComputeGuard(uint32_t index);
  Guard OutputGuard(const Output& output);
  Guard JoinOfAll(uint32_t index);
  Guard JoinOfMerge(uint32_t index);
  // Makes literals of the ports of Switch `index`, if it runs exactly when its predicate is available.
  void TryMember(uint32_t index);
  int32_t LiteralOf(uint32_t index, int32_t port) const;
  // Returns false if `guard` differs from that of the loop's other Enters (NextIterations).
  static bool Agrees(bool* has_one, Guard* first, const Guard& guard);

  int32_t Intern(const Set& set);
  // Whether `set` is just the port of a LoopCond.
  bool IsLoopCond(int32_t set, int32_t port) const;
  // The union of both sets; certain only when they nest and are few.
  Guard Unite(const Guard& a, const Guard& b);
  bool Nests(const Set& set) const;
  int32_t Intersect(int32_t a, int32_t b);

  // Computes, for each node, the literals of its guard whose cones contain it.
  void MarkInner();
  void CollectBorders();
  bool CanBeInner(const NodeItem& item) const;
  // The position of `literal` in the guard of `index`, or -1.
  int Position(uint32_t index, int32_t literal) const;
  bool IsInner(uint32_t index, int32_t literal) const {
    const int position = Position(index, literal);
    return position >= 0 && (inner_[index] >> position & 1) != 0;
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  const std::vector<uint32_t>& item_of_;
  GraphView& view_;

  std::vector<uint32_t> order_;  // Items, each after what it needs.
  std::vector<Guard> guards_;    // By item; of the node itself, in its own frame.
  std::vector<Loop> loops_;      // By frame.
  std::vector<Set> sets_;
  std::map<Set, int32_t> set_ids_;
  HashMap<std::pair<int32_t, int32_t>, Guard> united_;
  std::vector<Literal> literals_;
  HashMap<std::pair<int32_t, int32_t>, int32_t> first_literals_;  // By predicate: node and output.
  std::vector<int32_t> first_literal_;                            // By item: of the Switches that are members; else -1.
  std::vector<uint8_t> inner_;                                    // By item: bit i for literal i of its guard.
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_DEAD_CONES_H_
