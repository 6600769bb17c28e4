#include "frames/activation.h"

#include "graph/value/ref_cell.h"

namespace sluice {

void Activation::Fault(PropagationFault::Kind kind, const NodeItem& item, uint32_t input) {
  has_leftovers_ = true;
  if (fault_.kind == PropagationFault::Kind::kNone) fault_ = PropagationFault{kind, &item, input};
}

template <typename IsDead>
uint32_t Activation::Activate(const NodeItem& item, IterationState& to, IsDead is_dead) {
  uint32_t activated = 0;
  for (const EdgeInfo& edge : view_.edges(item)) {
    const NodeItem& dst = view_.item(edge.dst);
    activated += is_dead(edge) ? ArriveDead(item, edge, dst, to) : ArriveLive(item, edge, dst, to);
  }
  return activated;
}

uint32_t Activation::ArriveLive(const NodeItem& item, const EdgeInfo& edge, const NodeItem& dst, IterationState& to) {
  if (dst.kind != NodeKind::kMerge) return Arrive(dst, to, false);
  if (edge.is_control()) return ArriveControlAtMerge(dst, to);
  return ArriveLiveAtMerge(dst, edge.input, to, OutputEntry(item, static_cast<uint32_t>(edge.output), to));
}

uint32_t Activation::ActivateAllLive(const NodeItem& item, IterationState& to) {
  return Activate(item, to, [](const EdgeInfo&) { return false; });
}

uint32_t Activation::ActivateDead(const NodeItem& item, IterationState& to) {
  if (item.kind == NodeKind::kMerge) {
    to.counts.mark_started(item.counter);
  } else if (item.counter.is_set() || item.is(NodeItem::kTransfer)) {
    has_leftovers_ = true;  // Some of the arrivals may have been live.
  }
  return Activate(item, to, [](const EdgeInfo&) { return true; });
}

uint32_t Activation::ActivatePort(const NodeItem& item, IterationState& to, int32_t port) {
  uint32_t activated = 0;
  for (const EdgeInfo& edge : view_.edges(item)) {
    const NodeItem& dst = view_.item(edge.dst);
    if (!edge.is_control() && edge.output != port) {
      if (edge.is_inner == 0) activated += ArriveDead(item, edge, dst, to);
    } else {
      activated += ArriveLive(item, edge, dst, to);
    }
  }
  if (!item.is(NodeItem::kLeadsCones)) return activated;
  for (uint32_t dead = 0; dead < item.io.num_outputs; ++dead) {
    if (static_cast<int32_t>(dead) != port) activated += SettleCone(item, dead, to);
  }
  return activated;
}

uint32_t Activation::SettleCone(const NodeItem& leader, uint32_t port, IterationState& to) {
  if (view_.leaves_values(leader, port)) has_leftovers_ = true;
  uint32_t activated = 0;
  for (const BorderEdge& border : view_.border(leader, port)) {
    const EdgeInfo& edge = view_.edge(border.edge);
    activated += ArriveDead(view_.item(border.src), edge, view_.item(edge.dst), to);
  }
  return activated;
}

uint32_t Activation::ActivateByEntry(const NodeItem& item, IterationState& to) {
  return Activate(item, to, [&](const EdgeInfo& edge) {
    return !edge.is_control() && OutputEntry(item, static_cast<uint32_t>(edge.output), to).is_dead();
  });
}

uint32_t Activation::ActivateBackEdges(const NodeItem& item, IterationState& to, Entry& value) {
  uint32_t activated = 0;
  value.SetUses(view_.uses(item, 0));  // The Merges' operands do not refer to this entry.
  for (const EdgeInfo& edge : view_.edges(item)) {
    const NodeItem& dst = view_.item(edge.dst);
    if (dst.kind != NodeKind::kMerge) {
      activated += Arrive(dst, to, false);
    } else if (edge.is_control()) {
      activated += ArriveControlAtMerge(dst, to);
    } else {
      activated += ArriveLiveAtMerge(dst, edge.input, to, value);
    }
  }
  return activated;
}

// Handles an arrival at a node that is not a Merge.
uint32_t Activation::Arrive(const NodeItem& dst, IterationState& to, bool is_dead) {
  if (dst.counter.is_set()) {
    const PendingCounts::Arrival arrival = to.counts.Arrive(dst.counter, is_dead);
    if (arrival == PendingCounts::Arrival::kWaiting) return 0;
    is_dead = arrival == PendingCounts::Arrival::kDead;
    if (dst.kind == NodeKind::kGradSum) {
      is_dead = to.counts.dead_count(dst.counter) == view_.extra(dst).num_counted_data;
    }
  }
  return Push(dst, to, is_dead && dst.kind != NodeKind::kControlTrigger);
}

uint32_t Activation::ArriveDead(const NodeItem& item, const EdgeInfo& edge, const NodeItem& dst, IterationState& to) {
  switch (dst.kind) {
    case NodeKind::kMerge:
      if (edge.is_control()) return ArriveControlAtMerge(dst, to);
      return ArriveDeadAtMerge(dst, to, item.kind == NodeKind::kEnter);
    case NodeKind::kExit:
      return 0;  // Which Exits are dead is settled when the frame ends. See Note [Frame lifetime].
    case NodeKind::kGradSum:
      if (edge.is_control()) return Arrive(dst, to, false);
      break;
    default:
      break;
  }
  // These nodes read the slot itself, which may hold a value of an earlier iteration. A constant has no slot.
  const bool looks = dst.kind == NodeKind::kGradSum || dst.is(NodeItem::kTransfer);
  if (!edge.is_control() && looks && item.kind != NodeKind::kConst) {
    OutputEntry(item, static_cast<uint32_t>(edge.output), to).SetDead();
  }
  return Arrive(dst, to, true);
}

uint32_t Activation::ArriveLiveAtMerge(const NodeItem& dst, uint32_t input, IterationState& to, Entry& from) {
  const PendingCounts::Handle counter = dst.counter;
  if (to.counts.has_live(counter)) {
    // Late values are dropped once the Merge has run, as TensorFlow does.
    if (!to.counts.is_started(counter)) Fault(PropagationFault::Kind::kMergeTwice, dst, input);
    has_leftovers_ = true;
    return 0;
  }
  Entry& value = OutputEntry(dst, 0, to);
  Take(dst, input, from, value);
  SettleUses(dst, 0, value);
  if (dst.is(NodeItem::kIndexIsRead)) {
    Entry& index = OutputEntry(dst, 1, to);
    index.SetValue(Tensor::Scalar(static_cast<int32_t>(input)));
  }
  const bool is_ready = to.counts.pending(counter) == 1;
  to.counts.mark_live(counter);
  return is_ready ? Push(dst, to, false) : 0;
}

uint32_t Activation::ArriveDeadAtMerge(const NodeItem& dst, IterationState& to, bool is_enter) {
  const PendingCounts::Handle counter = dst.counter;
  const uint32_t num_inputs = view_.extra(dst).num_counted_data;
  if (to.counts.is_started(counter)) return 0;
  // A dead Enter means that the loop does not run, so nothing will arrive on its back edge.
  do {
    to.counts.increment_dead(counter);
  } while (is_enter && to.counts.dead_count(counter) < num_inputs && to.counts.pending(counter) > 0);
  const bool is_dead = to.counts.dead_count(counter) == num_inputs;
  return is_dead && to.counts.pending(counter) == 1 ? Push(dst, to, true) : 0;
}

uint32_t Activation::ArriveControlAtMerge(const NodeItem& dst, IterationState& to) {
  const PendingCounts::Handle counter = dst.counter;
  const uint32_t pending = to.counts.decrement_pending(counter, 2);
  if (pending == 0) return Push(dst, to, false);
  if (pending != 1 || to.counts.dead_count(counter) < view_.extra(dst).num_counted_data) return 0;
  return Push(dst, to, true);
}

void Activation::TakeSharedOrReference(const NodeItem& item, uint32_t i, Entry& from, Entry& to) {
  const Operand operand = item.io.input(i);
  if (ABSL_PREDICT_FALSE(from.is_ref() && !IsRef(item.io.input_types[i]))) {
    to.SetValue(from.ref()->Read());
    if (!to.value().has_value()) Fault(PropagationFault::Kind::kUninitialized, item, i);
    return;
  }
  const bool is_slot = operand.table() == Operand::Table::kSlots;
  if (operand.is_last_use() || (is_slot && from.holds_buffer() && from.uses() == 1)) return to.MoveFrom(from);
  to.CopyFrom(from);
  if (is_slot && from.holds_buffer() && from.DropUse()) from.Clear();
}

void Activation::SettleCounted(const NodeItem& item, uint32_t i, Entry& entry) {
  if (item.io.output(i).table() != Operand::Table::kSlots) return;
  const uint32_t uses = view_.uses(item, i);
  if (uses == 0) {
    entry.Clear();
  } else {
    entry.SetUses(uses);
  }
}

uint32_t Activation::CarryOut(const NodeItem& item, IterationState& in) {
  switch (item.kind) {
    case NodeKind::kSwitch:
    case NodeKind::kSwitchN:
      return CarryOutSwitch(item, in);
    case NodeKind::kMerge:
      in.counts.mark_started(item.counter);
      break;
    case NodeKind::kForward: {
      Entry& to = OutputEntry(item, 0, in);
      Take(item, 0, InputEntry(item, 0, in), to);
      SettleUses(item, 0, to);
      break;
    }
    default:
      break;
  }
  return ActivateLive(item, in);
}

uint32_t Activation::CarryOutSwitch(const NodeItem& item, IterationState& in) {
  Entry& selector = InputEntry(item, 1, in);
  const bool by_index = item.kind == NodeKind::kSwitchN;
  Tensor read;
  if (selector.is_ref()) read = selector.ref()->Read();
  const Tensor& predicate = selector.is_ref() ? read : selector.value();
  const bool is_right = predicate.dtype() == (by_index ? DType::kInt32 : DType::kBool) && predicate.rank() == 0;
  if (!is_right || item.io.num_outputs == 0) {
    Fault(PropagationFault::Kind::kPredicate, item, 1);
    return 0;
  }
  int32_t port;
  if (by_index) {
    const int32_t last = static_cast<int32_t>(item.io.num_outputs) - 1;
    port = predicate.flat<int32_t>()[0];
    if (port < 0 || port > last) port = last;
  } else {
    port = predicate.flat<bool>()[0] ? 1 : 0;
  }
  DropInput(item, 1, in);
  Entry& to = OutputEntry(item, static_cast<uint32_t>(port), in);
  Take(item, 0, InputEntry(item, 0, in), to);
  SettleUses(item, static_cast<uint32_t>(port), to);
  return ActivatePort(item, in, port);
}

}  // namespace sluice
