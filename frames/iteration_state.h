#ifndef SLUICE_FRAMES_ITERATION_STATE_H_
#define SLUICE_FRAMES_ITERATION_STATE_H_

#include <cstdint>
#include <memory>

#include "frames/frame_info.h"
#include "graph/value/entry.h"

namespace sluice {

class FrameState;

// One iteration of one live frame: the values its nodes have made, and what the others wait for. Recycled: when an
// iteration ends, its slab serves another one of the same static frame.
// Owned by a propagator. Not thread-safe, but for the values (see Entry).
struct IterationState {
  explicit IterationState(const FrameInfo& info)
      : slots(info.num_slots > 0 ? std::make_unique<Entry[]>(info.num_slots) : nullptr),
        counts(info.counts),
        children(info.num_children > 0 ? std::make_unique<FrameState*[]>(info.num_children) : nullptr) {}

  // Frees the values left in the slab. `info` is its frame's.
  void ClearSlots(const FrameInfo& info) {
    for (uint32_t i = 0; i < info.num_slots; ++i) slots[i].Clear();
  }

  const std::unique_ptr<Entry[]> slots;
  PendingCounts counts;
  FrameState* frame = nullptr;  // Null in graphs without frames.
  Entry* invariants = nullptr;  // The frame's.
  int64_t number = 0;
  // Nodes of this iteration that are ready or run, and frames entered from it that live.
  uint32_t outstanding_ops = 0;
  uint32_t outstanding_frames = 0;
  const std::unique_ptr<FrameState*[]> children;  // Those frames, by FrameInfo::ordinal; null: it does not live.
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_ITERATION_STATE_H_
