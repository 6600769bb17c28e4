#ifndef SLUICE_EXECUTOR_TAPE_VAR_STATE_H_
#define SLUICE_EXECUTOR_TAPE_VAR_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "executor/tape/tape_node.h"
#include "executor/tape/var.h"
#include "graph/base/mutex.h"
#include "graph/value/counted.h"
#include "graph/value/tensor.h"

namespace sluice {

class TapeCore;

// What the handles of one variable share. Counted twice: handles keep its content; references (CountedPtr), which nodes
// hold, keep only its memory and its version. So no record keeps itself alive. A leaf that can still be reached when
// its last handle goes (by accumulate hooks, holders of its gradient, custom functions that have saved it) leaves its
// content with its accumulator, and FindLeaf gives it back. The count reaches 0 and the content moves under one lock of
// the accumulator's mutex: a thread that holds it finds the leaf in one place or the other. Thread-safety: counts and
// version from any thread, the gradient under the mutex; all else like a plain value.
class VarState {
 public:
  // The caller owns its first handle.
  VarState(TapeCore* its_core, Tensor its_value) : core(its_core), value(std::move(its_value)) {}
  explicit VarState(absl::Status failed) : core(nullptr), status(std::move(failed)) {}
  VarState(const VarState&) = delete;
  VarState& operator=(const VarState&) = delete;
  ~VarState() = default;

  void AddHandle() { handles_.fetch_add(1, std::memory_order_relaxed); }  // Relaxed: the caller has a handle.
  // The last handle drops the content. Allocates nothing.
  void DropHandle() {
    int32_t handles = handles_.load(std::memory_order_relaxed);
    while (handles > 1) {
      if (handles_.compare_exchange_weak(handles, handles - 1, std::memory_order_acq_rel)) return;
    }
    DropLastHandle();
  }
  // Makes a handle from a reference; undefined if the content has gone.
  Var Lock() {
    int32_t handles = handles_.load(std::memory_order_relaxed);
    while (handles > 0) {
      if (handles_.compare_exchange_weak(handles, handles + 1, std::memory_order_acq_rel)) return Var::Adopt(this);
    }
    return Var();
  }
  // Takes the content back from `accumulator` and returns a first handle. The caller frees `ended` without the lock.
  // REQUIRES: it has no handle, and the caller has a reference.
  Var Revive(TapeNode& accumulator, LeftLeaf* ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(accumulator.mu)
      ABSL_LOCKS_EXCLUDED(mu);
  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) const std::unique_ptr<VarState> ended(this);
  }

  // Whether the caller's handle is the only one, so that no other thread can make one.
  bool has_one_handle() const { return handles_.load(std::memory_order_acquire) == 1; }
  bool has_handles() const { return handles_.load(std::memory_order_acquire) > 0; }

  // Whether gradients flow through it.
  bool requires_grad() const { return history.is_set(); }

  // Of a leaf: the node that adds to its gradient, even while it requires none; null: it never required one.
  CountedPtr<TapeNode> accumulator() const {
    if (!is_leaf) return CountedPtr<TapeNode>();
    return history.is_set() ? history.node : frozen;
  }

  // Counts calls of custom functions that have saved this leaf. Relaxed: the caller of AddSaver has a handle.
  void AddSaver() { savers_.fetch_add(1, std::memory_order_relaxed); }
  void DropSaver() { savers_.fetch_sub(1, std::memory_order_relaxed); }
  bool has_savers() const { return savers_.load(std::memory_order_relaxed) > 0; }

  TapeCore* const core;  // Null: the variable has failed.
  Tensor value;
  absl::Status status;
  TapeEdge history;     // What made it, or a leaf's accumulator.
  bool is_leaf = true;  // `history` is an accumulator, or unset.
  // The accumulator of a leaf that no longer requires a gradient, for when it requires one again.
  CountedPtr<TapeNode> frozen;
  std::atomic<uint32_t> version{0};
  Mutex mu;
  Var grad ABSL_GUARDED_BY(mu);

 private:
  struct Content {
    Tensor value;
    TapeEdge history;
    CountedPtr<TapeNode> frozen;
    Var grad;
  };

  // Drops a handle that may be the last, unless others were made meanwhile.
  void DropLastHandle() ABSL_LOCKS_EXCLUDED(mu);
  Content TakeContent() ABSL_LOCKS_EXCLUDED(mu);
  // Moves to `accumulator` the part of `content` that can still be reached.
  static void Leave(TapeNode& accumulator, Content* content) ABSL_EXCLUSIVE_LOCKS_REQUIRED(accumulator.mu);

  std::atomic<int32_t> handles_{1};
  std::atomic<int32_t> refs_{1};  // All handles together count as one.
  std::atomic<int32_t> savers_{0};
};

// Returns the leaf that `accumulator` adds to, even without handles if it can still be reached; else undefined.
// REQUIRES: no lock is held, since the caller's handle may become the last.
Var FindLeaf(TapeNode& accumulator) ABSL_LOCKS_EXCLUDED(accumulator.mu);
// Whether that leaf requires a gradient, or did when its last handle went.
bool LeafRequiresGrad(TapeNode& accumulator) ABSL_LOCKS_EXCLUDED(accumulator.mu);
// Takes what the leaf has left, if it cannot be reached any more; the caller frees it without the lock.
LeftLeaf TakeUnseen(TapeNode& accumulator) ABSL_EXCLUSIVE_LOCKS_REQUIRED(accumulator.mu);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_VAR_STATE_H_
