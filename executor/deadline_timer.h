#ifndef SLUICE_EXECUTOR_DEADLINE_TIMER_H_
#define SLUICE_EXECUTOR_DEADLINE_TIMER_H_

#include <pthread.h>

#include <cstdint>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "graph/base/mutex.h"

namespace sluice {

// Calls back when a time has come: for runs with a deadline, all of whose threads may be in kernels. One thread for the
// whole process, which starts with the first use. Adding a time and removing it again does not wake that thread, unless
// the time is the next of all. Thread-safe.
class DeadlineTimer {
 public:
  using Id = int64_t;

  // Lives for ever.
  static DeadlineTimer& Global();

  DeadlineTimer() = default;
  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;

  // Has `call` called once at `time` on the timer's thread, and `afterwards` when Remove waits for it no more.
  Id Add(absl::Time time, absl::AnyInvocable<void()> call, absl::AnyInvocable<void()> afterwards)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Afterwards `call` does not run: waits for it when it does. Not to be called from inside `call`.
  void Remove(absl::Time time, Id id) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Key = std::pair<absl::Time, Id>;
  struct Entry {
    absl::AnyInvocable<void()> call, afterwards;
  };

  static void* ThreadMain(void* timer);
  [[noreturn]] void Loop() ABSL_LOCKS_EXCLUDED(mu_);

  Mutex mu_;
  CondVar changed_;  // An earlier time has come in, or a call has returned.
  std::map<Key, Entry> entries_ ABSL_GUARDED_BY(mu_);
  Id next_id_ ABSL_GUARDED_BY(mu_) = 0;
  Id running_ ABSL_GUARDED_BY(mu_) = -1;
  absl::Time wakes_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();  // The thread sleeps no longer.
  bool is_started_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_DEADLINE_TIMER_H_
