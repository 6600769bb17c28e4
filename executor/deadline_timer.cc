#include "executor/deadline_timer.h"

#include <memory>

#include "absl/time/clock.h"
#include "graph/base/check.h"

namespace sluice {

DeadlineTimer& DeadlineTimer::Global() {
  static DeadlineTimer& timer = *std::make_unique<DeadlineTimer>().release();
  return timer;
}

DeadlineTimer::Id DeadlineTimer::Add(absl::Time time, absl::AnyInvocable<void()> call,
                                     absl::AnyInvocable<void()> afterwards) {
  MutexLock lock(&mu_);
  const Id id = next_id_++;
  entries_.emplace(Key(time, id), Entry{std::move(call), std::move(afterwards)});
  if (!is_started_) {
    pthread_t thread;
    SLUICE_CHECK_EQ(pthread_create(&thread, nullptr, &ThreadMain, this), 0);
    pthread_detach(thread);
    is_started_ = true;
  }
  if (time < wakes_at_) changed_.SignalAll();
  return id;
}

void DeadlineTimer::Remove(absl::Time time, Id id) {
  MutexLock lock(&mu_);
  if (entries_.erase(Key(time, id)) > 0) return;
  while (running_ == id) changed_.Wait(&mu_);
}

void* DeadlineTimer::ThreadMain(void* timer) { static_cast<DeadlineTimer*>(timer)->Loop(); }

void DeadlineTimer::Loop() {
  for (;;) {
    Entry due;
    {
      MutexLock lock(&mu_);
      while (entries_.empty() || entries_.begin()->first.first > absl::Now()) {
        wakes_at_ = entries_.empty() ? absl::InfiniteFuture() : entries_.begin()->first.first;
        if (entries_.empty()) {
          changed_.Wait(&mu_);
        } else {
          changed_.WaitWithDeadline(&mu_, wakes_at_);
        }
      }
      wakes_at_ = absl::InfinitePast();  // It will look again by itself.
      running_ = entries_.begin()->first.second;
      due = std::move(entries_.begin()->second);
      entries_.erase(entries_.begin());
    }
    due.call();
    {
      MutexLock lock(&mu_);
      running_ = -1;
      changed_.SignalAll();
    }
    due.afterwards();
  }
}

}  // namespace sluice
