#include "frames/flat_propagator.h"

namespace sluice {

FlatPropagator::FlatPropagator(const GraphView& view, FrameIdHash) : activation_(view), root_(view.frames()[0]) {}

void FlatPropagator::Begin() {
  const GraphView& view = activation_.view();
  for (const uint32_t root : view.roots()) ready().Push(TaggedNode(view.item(root), &root_, false));
}

void FlatPropagator::Reset(bool was_stopped) {
  const FrameInfo& info = activation_.view().frames()[0];
  if (was_stopped || activation_.has_leftovers()) root_.ClearSlots(info);
  root_.counts.ResetTo(info.counts);
  activation_.Reset();
}

}  // namespace sluice
