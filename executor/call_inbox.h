#ifndef SLUICE_EXECUTOR_CALL_INBOX_H_
#define SLUICE_EXECUTOR_CALL_INBOX_H_

#include <atomic>

#include "executor/node_call.h"

namespace sluice {

// The baton of a run (Note [Baton] in scheduler.h) together with the calls that have ended and wait for its holder.
// One atomic word: free, held, or held with a list of calls. Thread-safe.
class CallInbox {
 public:
  // Initially held by the thread that makes it.
  CallInbox() = default;

  // Adds a call that has ended. Returns true if the baton was free: the caller now holds it, with `call` in the inbox.
  // Returns false if another thread holds it and will see the call; the run may be destroyed before this returns.
  bool Push(NodeCall* call) {
    NodeCall* head = head_.load(std::memory_order_relaxed);
    for (;;) {
      call->next = head == Free() ? nullptr : head;
      // Release: what the call wrote is seen by the holder. Acquire: a new holder sees what the last one wrote.
      if (head_.compare_exchange_weak(head, call, std::memory_order_acq_rel, std::memory_order_relaxed)) {
        return head == Free();
      }
    }
  }
  // Takes out all calls, oldest first; null if there are none. REQUIRES: the baton.
  NodeCall* Drain() {
    if (empty()) return nullptr;
    NodeCall* newest = head_.exchange(nullptr, std::memory_order_acquire);  // See Push.
    NodeCall* oldest = nullptr;
    while (newest != nullptr) {
      NodeCall* const next = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = next;
    }
    return oldest;
  }
  // REQUIRES: the baton.
  bool empty() const { return head_.load(std::memory_order_relaxed) == nullptr; }
  // Gives the baton back. Returns false if a call has arrived: the caller then still holds the baton. REQUIRES: the
  // baton.
  bool Release() {
    NodeCall* head = nullptr;
    // Release: the next holder sees what this one wrote.
    return head_.compare_exchange_strong(head, Free(), std::memory_order_release, std::memory_order_relaxed);
  }

 private:
  NodeCall* Free() const { return reinterpret_cast<NodeCall*>(const_cast<CallInbox*>(this)); }

  std::atomic<NodeCall*> head_{nullptr};
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_CALL_INBOX_H_
