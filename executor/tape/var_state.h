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
// (CountedPtr), which nodes hold, keep only its memory and its version. So no record keeps itself alive. A leaf with
// accumulate hooks, or whose gradient others hold, leaves its content with its accumulator when its last handle goes,
// for passes to give it back.
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
  // Gives the content up with the last handle.
  void DropHandle() {
    if (handles_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    DropContent();
    Unref();
  }
  // A handle for one who has a reference only; undefined where the content has gone.
  Var Lock() {
    int32_t handles = handles_.load(std::memory_order_relaxed);
    while (handles > 0) {
      if (handles_.compare_exchange_weak(handles, handles + 1, std::memory_order_acq_rel)) return Var::Adopt(this);
    }
    return Var();
  }
  // Gives the content back to a variable without handles: `left` is what it left with its accumulator (LeftLeaf).
  // REQUIRES: the caller has a reference, and nobody else revives it now: the accumulator's mutex is held.
  Var Revive(LeftLeaf left, CountedPtr<TapeNode> accumulator) ABSL_LOCKS_EXCLUDED(mu);
  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) const std::unique_ptr<VarState> ended(this);
  }

  // Whether the caller's handle is the only one: nobody else can have another then.
  bool has_one_handle() const { return handles_.load(std::memory_order_acquire) == 1; }

  // Whether gradients flow through it.
  bool requires_grad() const { return history.is_set(); }

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
  void DropContent() ABSL_LOCKS_EXCLUDED(mu);

  std::atomic<int32_t> handles_{1};
  std::atomic<int32_t> refs_{1};  // All handles together count as one.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_VAR_STATE_H_
