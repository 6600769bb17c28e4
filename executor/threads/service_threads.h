#ifndef SLUICE_EXECUTOR_THREADS_SERVICE_THREADS_H_
#define SLUICE_EXECUTOR_THREADS_SERVICE_THREADS_H_

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "executor/threads/intrusive_queue.h"
#include "graph/base/mutex.h"

namespace sluice {

// Note [Service threads]
// Ten thousand runs may have the same deadline, so a thread for each call that is due would be ten thousand threads.
// One thread works through a queue instead. A task may block, however, even until a later task of the queue has run. So
// when no task has begun for kPatience, the next one begins on another thread, up to max_running threads. When no task
// has begun for kLongPatience, all of these probably wait for queued tasks, and one more thread is added each time.
// Invariants, under the lock:
// - While tasks wait, some thread is idle, and one idle thread (the standby) sleeps no longer than until the patience
//   with the running tasks ends: no task waits for ever, whatever the others do. (Only where the system gives no more
//   threads, a task may have to wait for one that runs.)
// - Each kAtOnce task that waits has an idle thread of its own.
// - Tasks of one urgency begin in the order in which they came.

// Threads of the process for work that must proceed when no thread of a host or a pool is available: calls due at a
// deadline, and deferred runs without threads of their own whose thread is about to wait. They start with the first
// task; a few stay for the next ones. Thread-safe. Lives for ever.
class ServiceThreads {
 public:
  // Something to run. Borrowed until RunTask is called, which may free it.
  class Task {
   public:
    virtual void RunTask() noexcept = 0;

   protected:
    ~Task() = default;

   private:
    friend class ServiceThreads;
    Task* next_task_ = nullptr;
  };
  enum class Urgency : uint8_t {
    kAtOnce,  // On a thread of its own: for tasks on which others wait that block this queue.
    kSoon,    // Before all tasks that are kInTurn: short tasks on which others depend.
    kInTurn
  };
  // As pthread_create.
  using CreateThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

  static constexpr absl::Duration kPatience = absl::Milliseconds(1);
  static constexpr absl::Duration kLongPatience = absl::Milliseconds(50);
  // At most this many threads wait for tasks; others end.
  static constexpr int kMaxIdle = 2;

  static ServiceThreads& Global();

  // `max_running` threads run tasks at once, if those do not block for long; 0: a few more than there are processors.
  explicit ServiceThreads(CreateThread create_thread = &pthread_create, int max_running = 0);
  ServiceThreads(const ServiceThreads&) = delete;
  ServiceThreads& operator=(const ServiceThreads&) = delete;

  // Has a service thread run `task`. Returns false, without effect, if none is free and the system gives no more.
  [[nodiscard]] bool Run(Task* task, Urgency urgency = Urgency::kInTurn) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // The number of threads now, busy or not; and the largest number so far.
  int num_threads() const ABSL_LOCKS_EXCLUDED(mu_);
  int most_threads() const ABSL_LOCKS_EXCLUDED(mu_);
  int max_running() const { return max_running_; }

 private:
  using Queue = IntrusiveQueue<Task, &Task::next_task_>;
  struct Taken {
    Task* task = nullptr;
    bool is_shared = false;  // Not kAtOnce.
  };

  static void* ThreadMain(void* threads);
  void Loop() ABSL_LOCKS_EXCLUDED(mu_);
  // Waits for the next task for this thread; returns none if the thread should end. A thread that has just ended a
  // shared task takes the next one without regard to kPatience.
  Taken Await(bool has_ended_one) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Taken Take(Urgency urgency) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AddThread() noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Queue& queue(Urgency urgency) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return queues_[static_cast<size_t>(urgency)]; }
  // Whether a task waits that is not kAtOnce.
  bool HasShared() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !queue(Urgency::kSoon).empty() || !queue(Urgency::kInTurn).empty();
  }

  const CreateThread create_thread_;
  const int max_running_;
  mutable Mutex mu_;
  CondVar task_came_;
  std::array<Queue, 3> queues_ ABSL_GUARDED_BY(mu_);  // By Urgency.
  int num_at_once_ ABSL_GUARDED_BY(mu_) = 0;          // In the first of them.
  int num_threads_ ABSL_GUARDED_BY(mu_) = 0;
  int most_threads_ ABSL_GUARDED_BY(mu_) = 0;
  int num_idle_ ABSL_GUARDED_BY(mu_) = 0;     // In Await, or on their way there.
  int num_running_ ABSL_GUARDED_BY(mu_) = 0;  // With a task that is not kAtOnce.
  bool has_standby_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time begun_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();  // When the last task that is not kAtOnce was.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_THREADS_SERVICE_THREADS_H_
