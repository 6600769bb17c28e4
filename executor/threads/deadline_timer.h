#ifndef SLUICE_EXECUTOR_THREADS_DEADLINE_TIMER_H_
#define SLUICE_EXECUTOR_THREADS_DEADLINE_TIMER_H_

#include <cstdint>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "executor/threads/service_threads.h"
#include "graph/base/mutex.h"

namespace sluice {

// Calls functions at given times: needed for deadlines of runs all of whose threads may be in kernels. One thread per
// process watches the clock; the first use starts it. It runs the calls as tasks of the service threads (Note [Service
// threads] in service_threads.h), so that a long call does not delay others; only if the system gives no thread does it
// run them itself, one after the other. Adding a time and removing it again wakes the thread only if that time is the
// earliest. Thread-safe.
class DeadlineTimer {
 public:
  using Id = int64_t;
  static constexpr Id kNone = -1;

  // The process's; a forked child has its own. Lives for ever.
  static DeadlineTimer& Global();

  DeadlineTimer() : DeadlineTimer(&pthread_create, ServiceThreads::Global()) {}
  // `create_thread`: as pthread_create. Both must live as long as this, which is for ever once Add was called.
  DeadlineTimer(ServiceThreads::CreateThread create_thread, ServiceThreads& service_threads)
      : create_thread_(create_thread), service_threads_(service_threads) {}
  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;

  // Has `call` called once at `time`, in a HandOverScope (thread_runs.h): runs that it sets free continue on threads of
  // their own, or, after all calls that are due, on service threads. kNone, and no call, when the system gives no
  // thread to look at the clock.
  Id Add(absl::Time time, absl::AnyInvocable<void()> call) ABSL_LOCKS_EXCLUDED(mu_);
  // Returns the error to report when Add returned kNone: kOutOfMemory.
  static absl::Status NoThread() noexcept;
  // Removes a call: afterwards it does not run. If it has begun, waits for its end, and first hands over the runs that
  // this thread has deferred; if it is only queued, does not wait. Must not be called from inside `call`. Does nothing
  // for kNone.
  void Remove(absl::Time time, Id id) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Key = std::pair<absl::Time, Id>;
  // A call that was added. It is in the list of waiting calls, then of due calls, until its task has run, even if it
  // was removed: the service threads keep a pointer to it until then.
  class Due final : public ServiceThreads::Task {
   public:
    Due(DeadlineTimer* timer, Key key, absl::AnyInvocable<void()> call)
        : timer_(timer), key_(key), call_(std::move(call)) {}
    void RunTask() noexcept override;

   private:
    friend class DeadlineTimer;
    DeadlineTimer* const timer_;
    const Key key_;
    // Guarded by the timer's mutex until `has_begun_`, and then the task's alone.
    absl::AnyInvocable<void()> call_;
    bool has_begun_ = false, is_removed_ = false;  // Guarded by the timer's mutex. At most one of them is true.
  };

  static void* ThreadMain(void* timer);
  [[noreturn]] void Loop() ABSL_LOCKS_EXCLUDED(mu_);
  // Marks `due` as begun; returns false if it was removed.
  bool Begin(Due* due) ABSL_LOCKS_EXCLUDED(mu_);
  void HasEnded(const Key& key) ABSL_LOCKS_EXCLUDED(mu_);

  const ServiceThreads::CreateThread create_thread_;
  ServiceThreads& service_threads_;

  Mutex mu_;
  CondVar changed_;  // An earlier time was added, or a call has ended.
  std::map<Key, Due> waiting_ ABSL_GUARDED_BY(mu_);
  std::map<Key, Due> due_ ABSL_GUARDED_BY(mu_);
  absl::Time wakes_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();  // When the thread's sleep ends.
  bool is_started_ ABSL_GUARDED_BY(mu_) = false;
};

// Has `call` called at `time` unless destroyed before. The destructor waits for a call that has begun, so it must not
// run inside it. Not thread-safe.
class TimedCall {
 public:
  TimedCall(absl::Time time, absl::AnyInvocable<void()> call)
      : time_(time), id_(DeadlineTimer::Global().Add(time, std::move(call))) {}
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;
  ~TimedCall() { DeadlineTimer::Global().Remove(time_, id_); }

  // False: the system gives no thread to look at the clock, and there will be no call.
  bool is_set() const { return id_ != DeadlineTimer::kNone; }

 private:
  const absl::Time time_;
  const DeadlineTimer::Id id_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_THREADS_DEADLINE_TIMER_H_
