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

// What the handles of one variable share. Counted twice: while there are handles it has its content; references
// (CountedPtr), which nodes hold, keep only its memory and its version. So no record keeps itself alive. A leaf that
// somebody can still see when its last handle goes (accumulate hooks, holders of its gradient, custom functions that
// have saved it) leaves its content with its accumulator, and FindLeaf gives it back. The count reaches 0 and the
// content is left in one section of the accumulator's mutex: so whoever holds that finds a leaf by one or the other.
// Thread-safety: counts and version from any thread, the gradient under the mutex; all else like a plain value.
class VarState {
 public:
  // With one handle, which is the caller's.
  VarState(TapeCore* its_core, Tensor its_value) : core(its_core), value(std::move(its_value)) {}
  explicit VarState(absl::Status failed) : core(nullptr), status(std::move(failed)) {}
  VarState(const VarState&) = delete;
  VarState& operator=(const VarState&) = delete;
  ~VarState() = default;

  void AddHandle() { handles_.fetch_add(1, std::memory_order_relaxed); }  // Relaxed: the caller has a handle.
  // Gives the content up with the last handle. Allocates nothing.
  void DropHandle() {
    int32_t handles = handles_.load(std::memory_order_relaxed);
    while (handles > 1) {
      if (handles_.compare_exchange_weak(handles, handles - 1, std::memory_order_acq_rel)) return;
    }
    DropLastHandle();
  }
  // A handle for one who has a reference only; undefined where the content has gone.
  Var Lock() {
    int32_t handles = handles_.load(std::memory_order_relaxed);
    while (handles > 0) {
      if (handles_.compare_exchange_weak(handles, handles + 1, std::memory_order_acq_rel)) return Var::Adopt(this);
    }
    return Var();
  }
  // Gives the content that it has left with `accumulator` to a first handle. `ended` gets what is to be freed without
  // the lock. REQUIRES: it has no handle, and the caller has a reference.
  Var Revive(TapeNode& accumulator, LeftLeaf* ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(accumulator.mu)
      ABSL_LOCKS_EXCLUDED(mu);
  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) const std::unique_ptr<VarState> ended(this);
  }

  // Whether the caller's handle is the only one: nobody else can have another then.
  bool has_one_handle() const { return handles_.load(std::memory_order_acquire) == 1; }
  bool has_handles() const { return handles_.load(std::memory_order_acquire) > 0; }

  // Whether gradients flow through it.
  bool requires_grad() const { return history.is_set(); }

  // Of a leaf: the node that adds to its gradient, also while it requires none; null: it has had none.
  CountedPtr<TapeNode> accumulator() const {
    if (!is_leaf) return CountedPtr<TapeNode>();
    return history.is_set() ? history.node : frozen;
  }

  // Calls of custom functions that have saved this leaf, and may ask for it. Relaxed: who adds one has a handle.
  void AddSaver() { savers_.fetch_add(1, std::memory_order_relaxed); }
  void DropSaver() { savers_.fetch_sub(1, std::memory_order_relaxed); }
  bool has_savers() const { return savers_.load(std::memory_order_relaxed) > 0; }

  TapeCore* const core;  // Null: it has failed.
  Tensor value;
  absl::Status status;
  TapeEdge history;     // What made it, or a leaf's accumulator.
  bool is_leaf = true;  // `history` is an accumulator, or unset.
  // Of a leaf that has been told to require no gradient: it may require one again, and then gets it where it got it.
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

  // For one that may be the last: others may have come since.
  void DropLastHandle() ABSL_LOCKS_EXCLUDED(mu);
  Content TakeContent() ABSL_LOCKS_EXCLUDED(mu);
  // Moves to `accumulator` what somebody can still see of `content`.
  static void Leave(TapeNode& accumulator, Content* content) ABSL_EXCLUSIVE_LOCKS_REQUIRED(accumulator.mu);

  std::atomic<int32_t> handles_{1};
  std::atomic<int32_t> refs_{1};  // All handles together count as one.
  std::atomic<int32_t> savers_{0};
};

// The leaf that `accumulator` adds to, also where its last handle has gone and somebody can still see it; undefined
// where nobody can. REQUIRES: no lock is held, since the caller's may become the last handle.
Var FindLeaf(TapeNode& accumulator) ABSL_LOCKS_EXCLUDED(accumulator.mu);
// Whether that leaf requires a gradient; where it has no handle any more, whether it did then.
bool LeafRequiresGrad(TapeNode& accumulator) ABSL_LOCKS_EXCLUDED(accumulator.mu);
// Takes what the leaf has left, if nobody can see it any more: for the caller to free without the lock.
LeftLeaf TakeUnseen(TapeNode& accumulator) ABSL_EXCLUSIVE_LOCKS_REQUIRED(accumulator.mu);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_VAR_STATE_H_
