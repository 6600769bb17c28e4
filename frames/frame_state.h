#ifndef SLUICE_FRAMES_FRAME_STATE_H_
#define SLUICE_FRAMES_FRAME_STATE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "frames/frame_info.h"
#include "frames/graph_view.h"
#include "frames/iteration_state.h"

namespace sluice {

// Note [Frame lifetime]
// The first Enter that fires in one iteration of the parent, live or dead, makes the frame. Its iterations end in
// order: iteration k when nothing of it is ready or runs, no frame entered from it lives, and k-1 has ended (for 0: all
// Enters have come, so that loop invariants reach it). At most parallel_iterations live at once; a NextIteration beyond
// that parks its value until one ends. The frame ends when all Enters have come and no iteration lives; only then it is
// known which Exits are dead, and the parent is notified of these. (A dead Exit of an earlier iteration has no effect.)

// One live frame. Recycled like its iterations.
// Owned by a propagator. Not thread-safe.
class FrameState {
 public:
  // A constant Enter that has come.
  struct Invariant {
    const NodeItem* enter;
    bool is_dead;
  };

  explicit FrameState(int32_t index, const FrameInfo& frame_info)
      : index(index),
        info(frame_info),
        invariants(frame_info.num_invariants > 0 ? std::make_unique<Entry[]>(frame_info.num_invariants) : nullptr),
        parked(frame_info.num_next_iterations > 0 ? std::make_unique<Entry[]>(frame_info.num_next_iterations)
                                                  : nullptr),
        is_exit_live(frame_info.exits.size(), 0),
        window(WindowSize(frame_info.parallel_iterations + 1), nullptr) {}

  // Iteration `number`, or null when it does not live.
  IterationState*& iteration(int64_t number) { return window[static_cast<size_t>(number) & (window.size() - 1)]; }
  // Whether another iteration may start.
  bool HasRoom() const { return num_live_iterations < info.parallel_iterations; }
  bool IsIterationDone(int64_t number) {
    const IterationState& it = *iteration(number);
    if (it.outstanding_ops > 0 || it.outstanding_frames > 0) return false;
    return number == 0 ? num_pending_enters == 0 : iteration(number - 1) == nullptr;
  }
  bool IsDone() const { return num_pending_enters == 0 && num_live_iterations == 0; }

  const int32_t index;  // Of the static frame.
  const FrameInfo& info;
  FrameState* parent = nullptr;  // Null for the root.
  IterationState* parent_iteration = nullptr;
  uint64_t id = 0;  // By FrameIdHash.

  uint32_t num_pending_enters = 0;
  uint32_t num_live_iterations = 0;
  int64_t last_iteration = 0;  // The newest one.
  std::vector<Invariant> arrived_invariants;
  const std::unique_ptr<Entry[]> invariants;
  std::vector<const NodeItem*> parked_nodes;  // NextIterations that wait for room.
  const std::unique_ptr<Entry[]> parked;      // Their values, by NodeExtra::next_iteration_number.
  std::vector<char> is_exit_live;             // By NodeExtra::exit_number: whether a value has left through it.
  std::vector<IterationState*> window;        // Iteration k at k modulo the size, a power of two.

 private:
  static size_t WindowSize(size_t wanted) {
    size_t size = 2;
    while (size < wanted) size *= 2;
    return size;
  }
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_FRAME_STATE_H_
