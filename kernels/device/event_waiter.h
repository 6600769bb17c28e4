#ifndef SLUICE_KERNELS_DEVICE_EVENT_WAITER_H_
#define SLUICE_KERNELS_DEVICE_EVENT_WAITER_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "graph/base/mutex.h"
#include "graph/value/counted.h"

namespace sluice {

// A point in the work of a stream, which comes when all work queued before it is done (for example a cudaEvent_t).
// Thread-safe.
class Event : public Counted {
 public:
  // Never waits. Acquire: what the device wrote before is seen.
  virtual bool HasCome() const = 0;
  // Waits at most `limit`; returns whether the event has come.
  virtual bool AwaitFor(absl::Duration limit) const = 0;
};

// The thread of a device that waits for events and runs their tasks. It starts with the first event and waits for
// nothing else: tasks must not wait, nor run kernels. Thread-safe.
class EventWaiter {
 public:
  // What to do. Borrowed from Add until EventHasCome is called, which may free it.
  class Task {
   public:
    virtual void EventHasCome() noexcept = 0;

   protected:
    ~Task() = default;

   private:
    friend class EventWaiter;
    Task* next_ = nullptr;
    CountedPtr<Event> event_;
  };

  // `may_have_thread`: false behaves as if the system gave no thread. For tests.
  explicit EventWaiter(bool may_have_thread = true) : may_have_thread_(may_have_thread) {}
  EventWaiter(const EventWaiter&) = delete;
  EventWaiter& operator=(const EventWaiter&) = delete;
  // Waits for all events.
  ~EventWaiter();

  // Calls `task` on the thread after `event` has come. Where the system gives no thread, waits here. REQUIRES: event.
  void Add(CountedPtr<Event> event, Task* task) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // The same for tasks that add another event when theirs has come, and so on. False if the system gives no thread:
  // this has waited for the event, and the caller runs the task (Add would nest tasks).
  bool AddOrWait(CountedPtr<Event> event, Task* task) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Waits until no event and no task is left. Not to be called from a task.
  void Drain() noexcept ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Loop() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Starts the thread if it does not run. Returns false if the system refuses one.
  bool HasThread() noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const bool may_have_thread_;
  Mutex mu_;
  CondVar changed_;
  Task* first_ ABSL_GUARDED_BY(mu_) = nullptr;  // Those that the thread has not taken yet; newest first.
  bool is_busy_ ABSL_GUARDED_BY(mu_) = false;   // The thread has others.
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
  bool has_thread_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // Set with has_thread_, once.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_DEVICE_EVENT_WAITER_H_
