#include "executor/threads/deadline_timer.h"

#include <pthread.h>

#include <atomic>

#include "absl/time/clock.h"
#include "executor/threads/per_process.h"
#include "executor/threads/thread_runs.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// Unique in the process: a forked child may remove from its timer what was added to its parent's.
std::atomic<DeadlineTimer::Id> next_id{0};

}  // namespace

DeadlineTimer& DeadlineTimer::Global() { return PerProcess<DeadlineTimer>::Get(); }

DeadlineTimer::Id DeadlineTimer::Add(absl::Time time, absl::AnyInvocable<void()> call) {
  const Id id = next_id.fetch_add(1, std::memory_order_relaxed);  // Relaxed: unique only.
  const Key key(time, id);
  MutexLock lock(&mu_);
  if (!is_started_) {
    pthread_t thread;
    if (create_thread_(&thread, nullptr, &ThreadMain, this) != 0) return kNone;
    pthread_detach(thread);
    is_started_ = true;
  }
  waiting_.try_emplace(key, this, key, std::move(call));
  if (time < wakes_at_) changed_.SignalAll();
  return id;
}

void DeadlineTimer::Remove(absl::Time time, Id id) {
  if (id == kNone) return;
  const Key key(time, id);
  decltype(waiting_)::node_type removed;  // These go after the lock.
  absl::AnyInvocable<void()> call;
  {
    MutexLock lock(&mu_);
    removed = waiting_.extract(key);
    const auto due = due_.find(key);
    if (due == due_.end()) return;
    if (!due->second.has_begun_) {
      // Not waited for: it may have its turn after this very thread's task.
      due->second.is_removed_ = true;
      call = std::move(due->second.call_);
      return;
    }
  }
  ThreadRuns::Current().HandToAnyThread(DeferredRun::To::kRunner);  // The call may wait for them.
  MutexLock lock(&mu_);
  while (due_.count(key) > 0) changed_.Wait(&mu_);
}

absl::Status DeadlineTimer::NoThread() noexcept {
  return AsStatus([]() -> absl::Status {
    return Error(ErrorCode::kOutOfMemory).Text("the system gives no thread that could watch the deadline");
  });
}

void* DeadlineTimer::ThreadMain(void* timer) {
  pthread_setname_np(pthread_self(), "sluice-timer");
  static_cast<DeadlineTimer*>(timer)->Loop();
}

void DeadlineTimer::Loop() {
  for (;;) {
    Due* due = nullptr;
    {
      MutexLock lock(&mu_);
      while (waiting_.empty() || waiting_.begin()->first.first > absl::Now()) {
        wakes_at_ = waiting_.empty() ? absl::InfiniteFuture() : waiting_.begin()->first.first;
        if (waiting_.empty()) {
          changed_.Wait(&mu_);
        } else {
          changed_.WaitWithDeadline(&mu_, wakes_at_);
        }
      }
      wakes_at_ = absl::InfinitePast();  // It will look again by itself.
      due = &due_.insert(waiting_.extract(waiting_.begin())).position->second;
    }
    // Without a thread for it, a call that comes here, and makes others late, is better than none.
    if (!service_threads_.Run(due, ServiceThreads::Urgency::kSoon)) due->RunTask();
  }
}

void DeadlineTimer::Due::RunTask() noexcept {
  if (!timer_->Begin(this)) return timer_->HasEnded(key_);
  const ThreadRuns::HandOverScope scope;
  try {
    std::move(call_)();
  } catch (...) {
    LogCaught("a call at a deadline");
  }
  timer_->HasEnded(key_);  // This is gone.
  // Runs without threads of their own continue here, after the calls that are due: those are short, and kernels wait
  // for them.
  ThreadRuns::Current().HandToAnyThread(DeferredRun::To::kOwnThreads);
}

bool DeadlineTimer::Begin(Due* due) {
  MutexLock lock(&mu_);
  due->has_begun_ = !due->is_removed_;
  return due->has_begun_;
}

void DeadlineTimer::HasEnded(const Key& key) {
  decltype(due_)::node_type ended;  // Goes after the lock.
  MutexLock lock(&mu_);
  ended = due_.extract(key);
  changed_.SignalAll();
}

}  // namespace sluice
