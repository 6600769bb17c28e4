#include "kernels/device/event_waiter.h"

#include <utility>

namespace sluice {
namespace {

// How long the thread looks at one event before it looks at all: other streams' may have come.
constexpr absl::Duration kLook = absl::Microseconds(100);

}  // namespace

EventWaiter::~EventWaiter() {
  {
    MutexLock lock(&mu_);
    is_over_ = true;
    changed_.SignalAll();
    if (!has_thread_) return;
  }
  thread_.join();
}

bool EventWaiter::HasThread() noexcept {
  if (has_thread_ || !may_have_thread_) return has_thread_;
  try {
    thread_ = std::thread([this] { Loop(); });
    return has_thread_ = true;
  } catch (...) {
    return false;
  }
}

void EventWaiter::Add(CountedPtr<Event> event, Task* task) noexcept {
  if (!AddOrWait(std::move(event), task)) task->EventHasCome();
}

bool EventWaiter::AddOrWait(CountedPtr<Event> event, Task* task) noexcept {
  {
    MutexLock lock(&mu_);
    if (HasThread()) {
      task->event_ = std::move(event);
      task->next_ = std::exchange(first_, task);
      changed_.SignalAll();
      return true;
    }
  }
  event->AwaitFor(absl::InfiniteDuration());
  return false;
}

void EventWaiter::Drain() noexcept {
  MutexLock lock(&mu_);
  while (first_ != nullptr || is_busy_) changed_.Wait(&mu_);
}

void EventWaiter::Loop() noexcept {
  Task* mine = nullptr;  // Oldest first.
  Task** end = &mine;
  for (;;) {
    {
      MutexLock lock(&mu_);
      if (mine == nullptr) {
        is_busy_ = false;
        changed_.SignalAll();
        while (first_ == nullptr && !is_over_) changed_.Wait(&mu_);
        if (first_ == nullptr) return;
        is_busy_ = true;
      }
      Task* added = nullptr;  // In the order in which they came.
      while (first_ != nullptr) {
        Task* const task = first_;
        first_ = task->next_;
        task->next_ = std::exchange(added, task);
      }
      *end = added;
    }
    mine->event_->AwaitFor(kLook);
    Task** at = &mine;
    while (*at != nullptr) {
      Task* const task = *at;
      if (!task->event_->HasCome()) {
        at = &task->next_;
        continue;
      }
      *at = task->next_;
      task->event_ = CountedPtr<Event>();
      task->EventHasCome();
    }
    end = at;
  }
}

}  // namespace sluice
