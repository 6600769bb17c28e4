#ifndef SLUICE_FRAMES_FRAMED_PROPAGATOR_H_
#define SLUICE_FRAMES_FRAMED_PROPAGATOR_H_

#include <cstdint>
#include <vector>

#include "frames/activation.h"
#include "frames/flat_propagator.h"
#include "frames/frame_state.h"
#include "frames/state_pool.h"

namespace sluice {

// Moves values and deadness through one run of any graph. See Note [Propagator contract] in flat_propagator.h and
// Note [Frame lifetime] in frame_state.h.
// Owns all frames, iterations and values of the run, and keeps those that ended for the next. One thread at a time.
class FramedPropagator {
 public:
  static constexpr bool kHasFrames = true;

  FramedPropagator(const GraphView& view, FrameIdHash hash);
  FramedPropagator(const FramedPropagator&) = delete;
  FramedPropagator& operator=(const FramedPropagator&) = delete;
  ~FramedPropagator() { Reset(); }

  void Begin();
  void Process(const TaggedNode& node);
  void PropagateOutputs(const TaggedNode& node, bool all_live) {
    IterationState& in = node.iteration();
    uint32_t activated;
    if (ABSL_PREDICT_TRUE(all_live && !node.is_dead())) {
      activated = activation_.ActivateLive(node.item(), in);
    } else if (node.is_dead()) {
      activated = activation_.ActivateDead(node.item(), in);
    } else {
      activated = activation_.ActivateByEntry(node.item(), in);
    }
    NodeDone(in, activated);
  }
  void SetTables(const TaggedNode& node, EntryTables* tables) const {
    const IterationState& in = node.iteration();
    tables->table[0] = in.slots.get();
    tables->table[1] = in.invariants;
    tables->table[2] = activation_.view().constants();
  }
  uint64_t frame_id(const TaggedNode& node) const { return node.iteration().frame->id; }
  int64_t iteration(const TaggedNode& node) const { return node.iteration().number; }

  TaggedNodeReadyQueue& ready() { return activation_.ready(); }
  Activation& activation() { return activation_; }
  bool has_fault() const { return activation_.fault().kind != PropagationFault::Kind::kNone; }
  void Reset(bool was_stopped = true);

  int64_t num_live_frames() const { return num_live_frames_; }
  int64_t num_live_iterations() const { return num_live_iterations_; }
  // About how much memory is kept between runs, as of the last Reset.
  size_t kept_bytes() const { return kept_bytes_; }
  // Iterations of loops that memory is kept for: at most about twice as many as lived at once in the last run.
  size_t num_kept_iterations() const;

 private:
  // The state kept for one static frame.
  struct FramePool {
    StatePool<FrameState> frames;
    StatePool<IterationState> iterations;
  };

  // Outputs of `node` went to `activated` nodes of its own iteration.
  void NodeDone(IterationState& in, uint32_t activated) {
    in.outstanding_ops += activated;
    if (ABSL_PREDICT_FALSE(--in.outstanding_ops == 0)) CleanupFramesIterations(*in.frame, in.number);
  }
  void ProcessEnter(const TaggedNode& node);
  void ProcessExit(const TaggedNode& node);
  void ProcessNextIteration(const TaggedNode& node);

  // Returns the live frame of static frame `index` under iteration `in`; makes it for the first Enter.
  FrameState& FindOrCreateChildFrame(IterationState& in, int32_t index);
  void StartIteration(FrameState& frame, int64_t number);
  // Begins the iteration after the last: invariants and parked values go into it.
  IterationState& IncrementIteration(FrameState& frame);
  void ActivateInvariant(FrameState& frame, const FrameState::Invariant& invariant, IterationState& to);
  // Frees the iterations and frames that have ended, from iteration `number` on and in the frames around.
  void CleanupFramesIterations(FrameState& frame, int64_t number);
  // Notifies the parent of the dead Exits and frees the frame.
  void DeleteFrame(FrameState& frame);
  // As they were made. `clear`: drops what the slots hold; not needed if they are known to be empty.
  static void ResetIteration(const FrameInfo& info, IterationState& it, bool clear);
  static void ResetFrame(FrameState& frame);
  FramePool& pool(const FrameState& frame) { return pools_[static_cast<size_t>(frame.index)]; }

  Activation activation_;
  const FrameIdHash hash_;
  std::vector<FramePool> pools_;  // By static frame.
  FrameState* root_ = nullptr;
  size_t kept_bytes_ = 0;
  int64_t num_live_frames_ = 0;
  int64_t num_live_iterations_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_FRAMED_PROPAGATOR_H_
