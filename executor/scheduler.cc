#include "executor/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "executor/deadline_timer.h"
#include "executor/flush_denormals.h"
#include "graph/base/error.h"
#include "kernels/device/task_runner.h"

namespace sluice {
namespace {

// Waking a sleeping thread costs about this much: there must be as much work for it.
constexpr int64_t kWakeNs = 60'000;
// How long a helper without a call looks for another.
constexpr absl::Duration kLook = absl::Microseconds(15);

}  // namespace

Scheduler::ThreadState& Scheduler::ThisThread() {
  thread_local ThreadState state;  // Constant-initialised.
  return state;
}

template <typename Call>
absl::AnyInvocable<void()> Scheduler::Holding(Call call) {
  return [held = CountedPtr<Scheduler>::Share(this), call = std::move(call)]() mutable { call(held.get()); };
}

Scheduler::Scheduler(Client* client, const Executor::Args& args)
    : client_(client),
      task_runner_(args.task_runner),
      runner_(args.runner),
      status_(args.rendezvous, args.cancellation_manager, args.deadline) {
  if (task_runner_ != nullptr && !args.run_all_kernels_inline && !args.deterministic) {
    max_helpers_ = task_runner_->num_threads() - 1;
  }
}

void Scheduler::WasDropped() {
  status_.Record(Error(ErrorCode::kRunCancelled).Text("the runner dropped the work of the run instead of doing it"));
  if (ThisThread().depth > 0) return PutOff();
  Work(true);
}

void Scheduler::StartTimer() {
  if (!status_.has_deadline()) return;
  status_.CheckDeadline();
  timer_ = DeadlineTimer::Global().Add(status_.deadline(), Holding([](Scheduler* self) { self->DeadlinePassed(); }),
                                       [] { RunPutOff(); });
}

void Scheduler::Start() {
  StartTimer();
  if (runner_ != nullptr) return (*runner_)(BatonTask(this));
  const CountedPtr<Scheduler> held = CountedPtr<Scheduler>::Share(this);
  Work(true);
}

void Scheduler::RunToEnd() {
  has_waiter_ = true;
  const CountedPtr<Scheduler> held = CountedPtr<Scheduler>::Share(this);
  StartTimer();
  bool has_baton = runner_ == nullptr;
  if (runner_ != nullptr) (*runner_)(BatonTask(this));
  do {
    if (has_baton || runner_ == nullptr) Work(has_baton);
  } while (WaitForWork(&has_baton));
}

void Scheduler::Work(bool has_baton) {
  ThreadState& thread = ThisThread();
  ++thread.depth;
  {
    const FlushDenormals flush;
    for (;;) {
      if (has_baton && client_->Propagate()) {
        End();
        break;
      }
      NodeCall* const call = TakeCall();
      if (call == nullptr) break;
      HandOverPutOff();
      has_baton = client_->Execute(*call) && inbox_.Push(call);
    }
  }
  if (--thread.depth == 0 && !thread.is_draining) RunPutOff();
}

// On the timer's thread, while the run cannot end: what the abort sets free goes on afterwards.
void Scheduler::DeadlinePassed() {
  ++ThisThread().depth;
  status_.CheckDeadline();
  --ThisThread().depth;
}

void Scheduler::End() {
  if (timer_ >= 0) DeadlineTimer::Global().Remove(status_.deadline(), timer_);
  client_->Finish();
  MutexLock lock(&mu_);
  is_over_ = true;
  changed_.SignalAll();
}

bool Scheduler::WaitForWork(bool* has_baton) {
  RunPutOff();
  bool has_timed_out = false;
  for (;;) {
    {
      MutexLock lock(&mu_);
      is_waiting_ = true;
      bool passed = false;
      while (!is_over_ && !is_offered_ && (runner_ != nullptr || queue_.empty()) && !passed) {
        if (status_.has_deadline() && !has_timed_out) {
          passed = changed_.WaitWithDeadline(&mu_, status_.deadline());
        } else {
          changed_.Wait(&mu_);
        }
      }
      is_waiting_ = false;
      if (is_over_) return false;
      if (!passed || is_offered_ || (runner_ == nullptr && !queue_.empty())) {
        *has_baton = std::exchange(is_offered_, false);
        return true;
      }
    }
    has_timed_out = true;
    status_.CheckDeadline();
  }
}

bool Scheduler::OfferBaton() {
  if (!has_waiter_) return false;
  MutexLock lock(&mu_);
  if (!is_waiting_ || runner_ != nullptr) return false;
  is_offered_ = true;
  changed_.SignalAll();
  return true;
}

void Scheduler::CallEnded(NodeCall* call) {
  if (!inbox_.Push(call)) return;
  if (!OfferBaton()) GoOn();
}

void Scheduler::GoOn() {
  if (ThisThread().depth > 0) return PutOff();
  if (runner_ != nullptr) return (*runner_)(BatonTask(this));
  if (max_helpers_ > 0) return task_runner_->Schedule(BatonTask(this));
  const CountedPtr<Scheduler> held = CountedPtr<Scheduler>::Share(this);
  Work(true);
}

void Scheduler::PutOff() {
  ThreadState& thread = ThisThread();
  Ref();
  next_put_off_ = nullptr;
  if (thread.first_put_off == nullptr) {
    thread.first_put_off = this;
  } else {
    thread.last_put_off->next_put_off_ = this;
  }
  thread.last_put_off = this;
}

void Scheduler::HandOverPutOff() {
  ThreadState& thread = ThisThread();
  if (ABSL_PREDICT_TRUE(thread.first_put_off == nullptr)) return;
  Scheduler* run = std::exchange(thread.first_put_off, nullptr);
  while (run != nullptr) {
    const CountedPtr<Scheduler> held = CountedPtr<Scheduler>::Adopt(run);
    run = held->next_put_off_;
    if (held->max_helpers_ > 0 && held->runner_ == nullptr) {
      held->task_runner_->Schedule(held->Holding([](Scheduler* self) { self->Work(true); }));
    } else {
      held->PutOff();
    }
  }
}

void Scheduler::RunPutOff() {
  ThreadState& thread = ThisThread();
  if (thread.first_put_off == nullptr) return;
  const bool was_draining = std::exchange(thread.is_draining, true);
  const FlushDenormals flush;  // Once for all.
  while (thread.first_put_off != nullptr) {
    const CountedPtr<Scheduler> run = CountedPtr<Scheduler>::Adopt(thread.first_put_off);
    thread.first_put_off = run->next_put_off_;
    run->Work(true);
  }
  thread.is_draining = was_draining;
}

void Scheduler::Queue(NodeCall* call) {
  MutexLock lock(&mu_);
  queue_.push_back(call);
  queued_ns_ += call->cost_ns;
  num_queued_.store(queue_.size(), std::memory_order_relaxed);  // Relaxed: looked at again under the lock.
}

NodeCall* Scheduler::TakeCall() {
  if (num_queued_.load(std::memory_order_relaxed) == 0) return nullptr;
  MutexLock lock(&mu_);
  if (queue_.empty()) return nullptr;
  NodeCall* const call = queue_.front();
  queue_.pop_front();
  queued_ns_ -= call->cost_ns;
  num_queued_.store(queue_.size(), std::memory_order_relaxed);
  return call;
}

void Scheduler::WakeHelpers(bool is_busy) {
  if (num_queued_.load(std::memory_order_relaxed) == 0) return;
  int wanted = 0;
  {
    MutexLock lock(&mu_);
    const int64_t spare = static_cast<int64_t>(queue_.size()) - (is_busy ? 0 : 1);
    if (spare <= 0 || queued_ns_ < kWakeNs) return;
    if (is_waiting_) changed_.SignalAll();
    const int64_t worth = std::min(spare, queued_ns_ / kWakeNs) - (is_waiting_ ? 1 : 0);
    wanted = static_cast<int>(std::max<int64_t>(0, std::min<int64_t>(max_helpers_ - num_helpers_, worth)));
    num_helpers_ += wanted;
  }
  for (int i = 0; i < wanted; ++i) task_runner_->Schedule(Holding([](Scheduler* self) { self->Help(); }));
}

void Scheduler::Help() {
  for (;;) {
    Work(false);
    const absl::Time until = absl::Now() + kLook;
    while (num_queued_.load(std::memory_order_relaxed) == 0 && absl::Now() < until) {
    }
    MutexLock lock(&mu_);
    if (!queue_.empty()) continue;
    --num_helpers_;
    return;
  }
}

}  // namespace sluice
