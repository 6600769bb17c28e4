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

// Calls back when a time has come: for runs with a deadline, all of whose threads may be in kernels. One thread for the
// whole process looks at the clock; it starts with the first use. It runs no call itself: calls are tasks of the
// service threads (Note [Service threads] in service_threads.h), where one that takes long does not hold up the others;
// only where the system gives no thread, this one makes them one after the other. Adding a time and removing it again
// does not wake the thread, unless the time is the next of all. Thread-safe.
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
  // What a call of Add that has answered kNone means for those who asked: kOutOfMemory.
  static absl::Status NoThread() noexcept;
  // Afterwards `call` does not run: waits for it when it has begun, but not when it is due and waits for its turn.
  // Gives away the runs that this thread has deferred before it waits. Not to be called from inside `call`. Does
  // nothing for kNone.
  void Remove(absl::Time time, Id id) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Key = std::pair<absl::Time, Id>;
  // A call that was added. In the list of those that wait, then of those that are due, until its task has run: removed
  // or not, the service threads have that until then.
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
    bool has_begun_ = false, is_removed_ = false;  // Guarded by the timer's mutex. One of them at most.
  };

  static void* ThreadMain(void* timer);
  [[noreturn]] void Loop() ABSL_LOCKS_EXCLUDED(mu_);
  // False: it was removed.
  bool Begin(Due* due) ABSL_LOCKS_EXCLUDED(mu_);
  void HasEnded(const Key& key) ABSL_LOCKS_EXCLUDED(mu_);

  const ServiceThreads::CreateThread create_thread_;
  ServiceThreads& service_threads_;

  Mutex mu_;
  CondVar changed_;  // An earlier time has come in, or a call has ended.
  std::map<Key, Due> waiting_ ABSL_GUARDED_BY(mu_);
  std::map<Key, Due> due_ ABSL_GUARDED_BY(mu_);
  absl::Time wakes_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();  // The thread sleeps no longer.
  bool is_started_ ABSL_GUARDED_BY(mu_) = false;
};

// Has `call` called at `time` if that comes while this lives. The destructor waits for the call; not to be destroyed
// inside of it. Of one thread.
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
