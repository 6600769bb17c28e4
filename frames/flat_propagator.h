#ifndef SLUICE_FRAMES_FLAT_PROPAGATOR_H_
#define SLUICE_FRAMES_FLAT_PROPAGATOR_H_

#include <cstdint>

#include "frames/activation.h"

namespace sluice {

// Numbers a live frame: TensorFlow's hash of the parent's number, its iteration and the frame's name. Given by the
// executor, since the hash is part of the rendezvous' protocol.
using FrameIdHash = uint64_t (*)(uint64_t parent_id, int64_t parent_iteration, absl::string_view name);

// Moves values and deadness through one run of a graph without loops. Conditionals are fine.
//
// Note [Propagator contract] FlatPropagator and FramedPropagator are used alike:
//
//   propagator.Begin();                                // The roots are ready.
//   while (!propagator.ready().empty()) {
//     TaggedNode node = propagator.ready().Pop();
//     if (!IsRunByCaller(node)) propagator.Process(node);
//     else { run its kernel on Tables(node); propagator.PropagateOutputs(node, all_outputs_live); }
//   }
//   propagator.Reset();                                // Ready for another run; no value is left.
//
// The caller runs kKernel, kAsyncKernel and kGradSum nodes that are live, and transfers in any case; it drops their
// inputs itself (DropInputs) and settles the uses of their outputs. Process handles all other nodes. A node is
// processed, or its outputs are propagated, exactly once, in any order among those that are ready. When fault() says
// that something is wrong, the run must stop.
// Owns all values of the run. One thread at a time; the values themselves may be read by kernels on other threads.
class FlatPropagator {
 public:
  static constexpr bool kHasFrames = false;

  FlatPropagator(const GraphView& view, FrameIdHash hash);
  FlatPropagator(const FlatPropagator&) = delete;
  FlatPropagator& operator=(const FlatPropagator&) = delete;
  ~FlatPropagator() { Reset(); }

  void Begin();
  // Handles a node that the caller does not run: of another kind, or dead.
  void Process(const TaggedNode& node) {
    if (node.is_dead()) {
      activation_.ActivateDead(node.item(), root_);
    } else {
      activation_.CarryOut(node.item(), root_);
    }
  }
  // Notifies the consumers of `node`, which the caller has run. `all_live`: all its outputs are values or references.
  void PropagateOutputs(const TaggedNode& node, bool all_live) {
    if (ABSL_PREDICT_TRUE(all_live && !node.is_dead())) {
      activation_.ActivateLive(node.item(), root_);
    } else if (node.is_dead()) {
      activation_.ActivateDead(node.item(), root_);
    } else {
      activation_.ActivateByEntry(node.item(), root_);
    }
  }
  void SetTables(const TaggedNode&, EntryTables* tables) const {
    tables->table[0] = root_.slots.get();
    tables->table[2] = activation_.view().constants();
  }
  uint64_t frame_id(const TaggedNode&) const { return 0; }
  int64_t iteration(const TaggedNode&) const { return 0; }

  TaggedNodeReadyQueue& ready() { return activation_.ready(); }
  Activation& activation() { return activation_; }
  bool has_fault() const { return activation_.fault().kind != PropagationFault::Kind::kNone; }
  // Frees all values. `was_stopped`: the run ended early.
  void Reset(bool was_stopped = true);

  // About how much memory is kept between runs.
  size_t kept_bytes() const { return activation_.view().frames()[0].num_slots * sizeof(Entry); }
  // For leak tests: frames and iterations that live, the root's left out.
  int64_t num_live_frames() const { return 0; }
  int64_t num_live_iterations() const { return 0; }

 private:
  Activation activation_;
  IterationState root_;
};

}  // namespace sluice

#endif  // SLUICE_FRAMES_FLAT_PROPAGATOR_H_
