#ifndef SLUICE_FRAMES_ACTIVATION_H_
#define SLUICE_FRAMES_ACTIVATION_H_

#include <cstdint>

#include "absl/base/optimization.h"
#include "frames/graph_view.h"
#include "frames/iteration_state.h"
#include "frames/ready_queue.h"
#include "frames/tagged_node.h"

namespace sluice {

// A fault that a propagator found in the values of a graph; the executor turns it into an error. A value type.
struct PropagationFault {
  enum class Kind : uint8_t {
    kNone,
    kMergeTwice,     // A second live value came to a Merge that had not run yet.
    kPredicate,      // A Switch's predicate or index is not a scalar of its type.
    kUninitialized,  // The value of a reference is needed, but its variable has none.
    kExitTwice,      // An Exit was live in two iterations: its readers would run twice.
  };
  Kind kind = Kind::kNone;
  const NodeItem* item = nullptr;
  uint32_t input = 0;
};

// Implements the rules by which values and deadness travel inside one iteration, for both propagators.
//
// Note [Activation]
//   - An ordinary node waits for all its edges; one dead arrival makes it dead. A ControlTrigger is never dead.
//   - A Merge runs with its first live value, once its control inputs have come; it is dead when all its data inputs
//     are, or at once when an Enter is.
//   - A GradSum waits for all its edges and is dead when all its data inputs are.
//   - Dead nodes do not run, except transfers; their outputs are dead.
// Not thread-safe: one thread propagates at a time.
class Activation {
 public:
  explicit Activation(const GraphView& view) : view_(view) {}

  const GraphView& view() const { return view_; }
  TaggedNodeReadyQueue& ready() { return ready_; }
  const PropagationFault& fault() const { return fault_; }
  // Whether values may be left in slots that no node will read.
  bool has_leftovers() const { return has_leftovers_; }
  void Reset() {
    ready_.Clear();
    fault_ = PropagationFault();
    has_leftovers_ = false;
  }

  // Each of the next four notifies the consumers of `item` in iteration `to` that it is done, and returns how many
  // became ready. All its outputs are live:
  uint32_t ActivateLive(const NodeItem& item, IterationState& to) {
    if (ABSL_PREDICT_TRUE(item.is(NodeItem::kPlainEdges))) return ActivatePlain(item, to);
    return ActivateAllLive(item, to);
  }
  // All are dead:
  uint32_t ActivateDead(const NodeItem& item, IterationState& to);
  // Each output is live or dead as its slot says:
  uint32_t ActivateByEntry(const NodeItem& item, IterationState& to);
  // Only output `port` is live:
  uint32_t ActivatePort(const NodeItem& item, IterationState& to, int32_t port);
  // `item` is a NextIteration of the iteration before `to`, whose value is in `value` and is taken out.
  uint32_t ActivateBackEdges(const NodeItem& item, IterationState& to, Entry& value);

  // Records the fault at input `input` of `item`, if it is the first.
  void Fault(PropagationFault::Kind kind, const NodeItem& item, uint32_t input);

  // Executes a live node of a kind that needs neither a kernel nor frames, and activates its consumers.
  uint32_t CarryOut(const NodeItem& item, IterationState& in);

  // The slot of output (or input) `i` of a node that runs in `in`.
  Entry& OutputEntry(const NodeItem& item, uint32_t i, IterationState& in) { return At(item.io.output(i), in); }
  Entry& InputEntry(const NodeItem& item, uint32_t i, IterationState& in) { return At(item.io.input(i), in); }

  // Moves or copies input `i` of `item`, which lies in `from`, to `to`, and counts it as read by the node.
  void Take(const NodeItem& item, uint32_t i, Entry& from, Entry& to) {
    if (ABSL_PREDICT_TRUE(item.io.input(i).is_last_use() && !from.is_ref())) return to.MoveFrom(from);
    TakeSharedOrReference(item, i, from, to);
  }
  // Prepares output `i`, just written to `entry`, for its readers.
  void SettleUses(const NodeItem& item, uint32_t i, Entry& entry) {
    if (item.io.output(i).is_last_use()) return;
    if (entry.holds_buffer()) {
      SettleCounted(item, i, entry);
    } else {
      entry.SetUses(0);  // Inline values are not use-counted; clears the count that the slot's previous value left.
    }
  }
  // Releases the inputs of `item` in `in`, which has read them: drops those that no other node will read.
  void DropInputs(const NodeItem& item, IterationState& in) {
    for (uint32_t i = 0; i < item.io.num_inputs; ++i) DropInput(item, i, in);
  }
  void DropInput(const NodeItem& item, uint32_t i, IterationState& in) {
    const Operand operand = item.io.input(i);
    if (operand.table() != Operand::Table::kSlots) return;
    Entry& entry = in.slots[operand.index()];
    if (ABSL_PREDICT_TRUE(!entry.holds_buffer())) return;
    if (operand.is_last_use() || entry.DropUse()) entry.Clear();
  }

 private:
  uint32_t ActivatePlain(const NodeItem& item, IterationState& to) {
    uint32_t activated = 0;
    const EdgeInfo* edge = view_.edges(item).data();
    for (const EdgeInfo* const end = edge + item.num_edges; edge != end; ++edge) {
      const NodeItem& dst = view_.item(edge->dst);
      bool is_dead = false;
      if (dst.counter.is_set()) {
        const PendingCounts::Arrival arrival = to.counts.Arrive(dst.counter, false);
        if (arrival == PendingCounts::Arrival::kWaiting) continue;
        is_dead = arrival == PendingCounts::Arrival::kDead;
      }
      ready_.Push(TaggedNode(dst, &to, is_dead));
      ++activated;
    }
    return activated;
  }
  uint32_t ActivateAllLive(const NodeItem& item, IterationState& to);
  template <typename IsDead>
  uint32_t Activate(const NodeItem& item, IterationState& to, IsDead is_dead);

  uint32_t Arrive(const NodeItem& dst, IterationState& to, bool is_dead);
  uint32_t ArriveLive(const NodeItem& item, const EdgeInfo& edge, const NodeItem& dst, IterationState& to);
  uint32_t ArriveDead(const NodeItem& item, const EdgeInfo& edge, const NodeItem& dst, IterationState& to);
  uint32_t ArriveLiveAtMerge(const NodeItem& dst, uint32_t input, IterationState& to, Entry& from);
  uint32_t ArriveDeadAtMerge(const NodeItem& dst, IterationState& to, bool is_enter);
  uint32_t ArriveControlAtMerge(const NodeItem& dst, IterationState& to);
  uint32_t Push(const NodeItem& dst, IterationState& to, bool is_dead) {
    ready_.Push(TaggedNode(dst, &to, is_dead));
    return 1;
  }
  // Delivers dead tokens along the border of the cone of `port`.
  uint32_t SettleCone(const NodeItem& leader, uint32_t port, IterationState& to);
  uint32_t CarryOutSwitch(const NodeItem& item, IterationState& in);
  void SettleCounted(const NodeItem& item, uint32_t i, Entry& entry);
  void TakeSharedOrReference(const NodeItem& item, uint32_t i, Entry& from, Entry& to);
  Entry& At(Operand operand, IterationState& in) {
    if (ABSL_PREDICT_TRUE(operand.table() == Operand::Table::kSlots)) return in.slots[operand.index()];
    return operand.table() == Operand::Table::kConstants ? view_.constants()[operand.index()]
                                                         : in.invariants[operand.index()];
  }
  const GraphView& view_;
  TaggedNodeReadyQueue ready_;
  PropagationFault fault_;
  bool has_leftovers_ = false;
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_ACTIVATION_H_
