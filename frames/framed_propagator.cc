#include "frames/framed_propagator.h"

#include <algorithm>

namespace sluice {

FramedPropagator::FramedPropagator(const GraphView& view, FrameIdHash hash)
    : activation_(view), hash_(hash), pools_(view.frames().size()) {
  const FrameInfo& info = view.frames()[0];
  root_ = &pools_[0].frames.Take(0, info);
  root_->iteration(0) = &pools_[0].iterations.Take(info);
  root_->iteration(0)->frame = root_;
  root_->num_live_iterations = 1;
}

void FramedPropagator::Begin() {
  const GraphView& view = activation_.view();
  IterationState& root = *root_->iteration(0);
  for (const uint32_t item : view.roots()) ready().Push(TaggedNode(view.item(item), &root, false));
  // One more, so that the root frame never ends by itself.
  root.outstanding_ops = static_cast<uint32_t>(view.roots().size()) + 1;
}

void FramedPropagator::Process(const TaggedNode& node) {
  switch (node.item().kind) {
    case NodeKind::kEnter:
      return ProcessEnter(node);
    case NodeKind::kExit:
      return ProcessExit(node);
    case NodeKind::kNextIteration:
      return ProcessNextIteration(node);
    default:
      break;
  }
  IterationState& in = node.iteration();
  NodeDone(in, node.is_dead() ? activation_.ActivateDead(node.item(), in) : activation_.CarryOut(node.item(), in));
}

void FramedPropagator::ProcessEnter(const TaggedNode& node) {
  const NodeItem& item = node.item();
  IterationState& in = node.iteration();
  FrameState& frame = FindOrCreateChildFrame(in, activation_.view().extra(item).child_frame);
  --frame.num_pending_enters;
  // Iteration 0 lives until all Enters have come, and so do those after it.
  IterationState& first = *frame.iteration(0);
  if (!node.is_dead()) {
    Entry& to = activation_.OutputEntry(item, 0, first);
    activation_.Take(item, 0, activation_.InputEntry(item, 0, in), to);
    activation_.SettleUses(item, 0, to);
  }
  if (item.is(NodeItem::kConstantEnter)) {
    frame.arrived_invariants.push_back(FrameState::Invariant{&item, node.is_dead()});
    for (int64_t i = 0; i <= frame.last_iteration; ++i) {
      ActivateInvariant(frame, frame.arrived_invariants.back(), *frame.iteration(i));
    }
  } else if (node.is_dead()) {
    first.outstanding_ops += activation_.ActivateDead(item, first);
  } else {
    first.outstanding_ops += activation_.ActivateLive(item, first);
  }
  if (frame.num_pending_enters == 0 && first.outstanding_ops == 0) CleanupFramesIterations(frame, 0);
  NodeDone(in, 0);
}

void FramedPropagator::ProcessExit(const TaggedNode& node) {
  const NodeItem& item = node.item();
  IterationState& in = node.iteration();
  FrameState& frame = *in.frame;
  // Dead ones notify no one: see Note [Frame lifetime].
  if (!node.is_dead()) {
    char& is_live = frame.is_exit_live[activation_.view().extra(item).exit_number];
    if (is_live != 0 && item.num_edges > 0) {
      activation_.Fault(PropagationFault::Kind::kExitTwice, item, 0);
      return NodeDone(in, 0);
    }
    is_live = 1;
    IterationState& to = *frame.parent_iteration;
    Entry& value = activation_.OutputEntry(item, 0, to);
    activation_.Take(item, 0, activation_.InputEntry(item, 0, in), value);
    activation_.SettleUses(item, 0, value);
    to.outstanding_ops += activation_.ActivateLive(item, to);
  }
  NodeDone(in, 0);
}

void FramedPropagator::ProcessNextIteration(const TaggedNode& node) {
  const NodeItem& item = node.item();
  IterationState& in = node.iteration();
  FrameState& frame = *in.frame;
  if (node.is_dead()) return NodeDone(in, 0);
  Entry& value = activation_.InputEntry(item, 0, in);
  if (in.number == frame.last_iteration && !frame.HasRoom()) {
    activation_.Take(item, 0, value, frame.parked[activation_.view().extra(item).next_iteration_number]);
    frame.parked_nodes.push_back(&item);
    return NodeDone(in, 0);
  }
  IterationState& next =
      in.number == frame.last_iteration ? IncrementIteration(frame) : *frame.iteration(in.number + 1);
  if (item.io.input(0).is_last_use() && !value.is_ref()) {
    next.outstanding_ops += activation_.ActivateBackEdges(item, next, value);
  } else {
    Entry own;
    activation_.Take(item, 0, value, own);
    next.outstanding_ops += activation_.ActivateBackEdges(item, next, own);
  }
  NodeDone(in, 0);
}

FrameState& FramedPropagator::FindOrCreateChildFrame(IterationState& in, int32_t index) {
  const FrameInfo& info = activation_.view().frames()[static_cast<size_t>(index)];
  FrameState*& child = in.children[info.ordinal];
  if (child != nullptr) return *child;
  FrameState& frame = pools_[static_cast<size_t>(index)].frames.Take(index, info);
  child = &frame;
  frame.parent = in.frame;
  frame.parent_iteration = &in;
  ++in.outstanding_frames;
  frame.id = hash_(in.frame->id, in.number, info.name);
  frame.num_pending_enters = info.num_enters;
  std::fill(frame.is_exit_live.begin(), frame.is_exit_live.end(), 0);
  frame.last_iteration = 0;
  ++num_live_frames_;
  StartIteration(frame, 0);
  return frame;
}

void FramedPropagator::StartIteration(FrameState& frame, int64_t number) {
  IterationState& it = pool(frame).iterations.Take(frame.info);
  it.counts.ResetTo(frame.info.counts);
  it.frame = &frame;
  it.invariants = frame.invariants.get();
  it.number = number;
  frame.iteration(number) = &it;
  ++frame.num_live_iterations;
  ++num_live_iterations_;
}

IterationState& FramedPropagator::IncrementIteration(FrameState& frame) {
  StartIteration(frame, ++frame.last_iteration);
  IterationState& it = *frame.iteration(frame.last_iteration);
  for (const NodeItem* const item : frame.parked_nodes) {
    Entry& value = frame.parked[activation_.view().extra(*item).next_iteration_number];
    it.outstanding_ops += activation_.ActivateBackEdges(*item, it, value);
  }
  frame.parked_nodes.clear();
  for (const FrameState::Invariant& invariant : frame.arrived_invariants) ActivateInvariant(frame, invariant, it);
  return it;
}

void FramedPropagator::ActivateInvariant(FrameState&, const FrameState::Invariant& invariant, IterationState& to) {
  to.outstanding_ops += invariant.is_dead ? activation_.ActivateDead(*invariant.enter, to)
                                          : activation_.ActivateLive(*invariant.enter, to);
}

void FramedPropagator::CleanupFramesIterations(FrameState& start, int64_t number) {
  for (FrameState* frame = &start;;) {
    while (number <= frame->last_iteration && frame->IsIterationDone(number)) {
      IterationState*& it = frame->iteration(number);
      pool(*frame).iterations.Put(it);
      it = nullptr;
      --frame->num_live_iterations;
      --num_live_iterations_;
      if (!frame->parked_nodes.empty()) IncrementIteration(*frame);
      ++number;
    }
    if (!frame->IsDone()) return;
    IterationState& parent = *frame->parent_iteration;
    DeleteFrame(*frame);
    if (parent.outstanding_ops > 0 || parent.outstanding_frames > 0) return;
    frame = parent.frame;
    number = parent.number;
  }
}

void FramedPropagator::DeleteFrame(FrameState& frame) {
  IterationState& parent = *frame.parent_iteration;
  const GraphView& view = activation_.view();
  for (size_t i = 0; i < frame.info.exits.size(); ++i) {
    if (frame.is_exit_live[i] != 0) continue;
    parent.outstanding_ops += activation_.ActivateDead(view.item(frame.info.exits[i]), parent);
  }
  for (uint32_t i = 0; i < frame.info.num_invariants; ++i) frame.invariants[i].Clear();
  frame.arrived_invariants.clear();
  parent.children[frame.info.ordinal] = nullptr;
  --parent.outstanding_frames;
  --num_live_frames_;
  pool(frame).frames.Put(&frame);
}

size_t FramedPropagator::num_kept_iterations() const {
  size_t count = 0;
  for (size_t f = 1; f < pools_.size(); ++f) count += pools_[f].iterations.size();
  return count;
}

void FramedPropagator::ResetIteration(const FrameInfo& info, IterationState& it, bool clear) {
  if (clear) it.ClearSlots(info);
  it.outstanding_ops = it.outstanding_frames = 0;
  std::fill_n(it.children.get(), info.num_children, nullptr);
}

void FramedPropagator::ResetFrame(FrameState& frame) {
  for (uint32_t i = 0; i < frame.info.num_invariants; ++i) frame.invariants[i].Clear();
  for (uint32_t i = 0; i < frame.info.num_next_iterations; ++i) frame.parked[i].Clear();
  frame.arrived_invariants.clear();
  frame.parked_nodes.clear();
  std::fill(frame.window.begin(), frame.window.end(), nullptr);
  frame.num_live_iterations = 0;
}

void FramedPropagator::Reset(bool was_stopped) {
  const std::vector<FrameInfo>& infos = activation_.view().frames();
  IterationState& root = *root_->iteration(0);
  ResetIteration(infos[0], root, was_stopped || activation_.has_leftovers());
  root.counts.ResetTo(infos[0].counts);
  kept_bytes_ = infos[0].num_slots * sizeof(Entry);
  for (size_t f = 1; f < pools_.size(); ++f) {
    // Slabs of loops are cleared in any case: values may have been left in iterations that ended.
    pools_[f].iterations.PutAll([&](IterationState& it) { ResetIteration(infos[f], it, /*clear=*/true); });
    pools_[f].frames.PutAll([&](FrameState& frame) { ResetFrame(frame); });
    kept_bytes_ += pools_[f].iterations.size() * infos[f].num_slots * sizeof(Entry);
  }
  num_live_frames_ = num_live_iterations_ = 0;
  activation_.Reset();
}

}  // namespace sluice
