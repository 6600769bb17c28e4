#include "executor/threads/service_threads.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "executor/threads/per_process.h"
#include "executor/threads/processors.h"

namespace sluice {
namespace {

// What runs besides one task on each processor: tasks that wait for a short while.
constexpr int kSpareThreads = 2;

}  // namespace

ServiceThreads& ServiceThreads::Global() { return PerProcess<ServiceThreads>::Get(); }

ServiceThreads::ServiceThreads(CreateThread create_thread, int max_running)
    : create_thread_(create_thread), max_running_(max_running > 0 ? max_running : NumProcessors() + kSpareThreads) {}

bool ServiceThreads::Run(Task* task, Urgency urgency) noexcept {
  MutexLock lock(&mu_);
  const bool is_at_once = urgency == Urgency::kAtOnce;
  // Idle threads: one for each task of that kind, and one for all others.
  const bool has_others = !is_at_once || HasShared();
  const int wanted = num_at_once_ + (is_at_once ? 1 : 0) + (has_others ? 1 : 0);
  if (num_idle_ < wanted && !AddThread()) return false;
  num_at_once_ += is_at_once ? 1 : 0;
  queue(urgency).PushBack(task);
  task_came_.Signal();
  return true;
}

bool ServiceThreads::AddThread() noexcept {
  pthread_t thread;
  if (create_thread_(&thread, nullptr, &ThreadMain, this) != 0) return false;
  pthread_detach(thread);
  most_threads_ = std::max(most_threads_, ++num_threads_);
  ++num_idle_;
  return true;
}

int ServiceThreads::num_threads() const {
  MutexLock lock(&mu_);
  return num_threads_;
}

int ServiceThreads::most_threads() const {
  MutexLock lock(&mu_);
  return most_threads_;
}

void* ServiceThreads::ThreadMain(void* threads) {
  pthread_setname_np(pthread_self(), "sluice-service");
  static_cast<ServiceThreads*>(threads)->Loop();
  return nullptr;
}

ServiceThreads::Taken ServiceThreads::Take(Urgency urgency) {
  Task* const task = queue(urgency).PopFront();
  const bool is_at_once = urgency == Urgency::kAtOnce;
  --num_idle_;
  if (is_at_once) {
    --num_at_once_;
  } else {
    ++num_running_;
    begun_ = absl::Now();
  }
  if (HasShared() && !has_standby_) {
    // Another thread is to look after what waits. If there is none, this thread does it after its task.
    if (num_idle_ > num_at_once_) {
      task_came_.Signal();
    } else {
      AddThread();
    }
  }
  return {task, !is_at_once};
}

ServiceThreads::Taken ServiceThreads::Await(bool has_ended_one) {
  for (;;) {
    if (!queue(Urgency::kAtOnce).empty()) return Take(Urgency::kAtOnce);
    if (!HasShared()) {
      if (num_idle_ > kMaxIdle) return {};
      task_came_.Wait(&mu_);
      has_ended_one = false;
      continue;
    }
    const absl::Time now = absl::Now();
    begun_ = std::min(begun_, now);  // The clock may have been set back.
    const absl::Time next = begun_ + (num_running_ < max_running_ ? kPatience : kLongPatience);
    if (has_ended_one || num_running_ == 0 || now >= next) {
      return Take(queue(Urgency::kSoon).empty() ? Urgency::kInTurn : Urgency::kSoon);
    }
    if (has_standby_) {
      task_came_.Wait(&mu_);
      continue;
    }
    has_standby_ = true;
    task_came_.WaitWithDeadline(&mu_, next);
    has_standby_ = false;
  }
}

void ServiceThreads::Loop() {
  Taken taken;
  for (;;) {
    {
      MutexLock lock(&mu_);
      if (taken.task != nullptr) ++num_idle_;
      if (taken.is_shared) --num_running_;
      taken = Await(taken.is_shared);
      if (taken.task == nullptr) {
        --num_idle_;
        --num_threads_;
        return;
      }
    }
    taken.task->RunTask();
  }
}

}  // namespace sluice
