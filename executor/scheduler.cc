#include "executor/scheduler.h"

#include <algorithm>
#include <utility>

#include "executor/hand_off.h"
#include "executor/once_callback.h"
#include "executor/threads/deadline_timer.h"
#include "executor/threads/flush_denormals.h"
#include "executor/threads/spin.h"
#include "graph/base/as_status.h"
#include "graph/base/check.h"
#include "kernels/device/task_runner.h"

namespace sluice {
namespace {

// Waking a sleeping thread costs about this much: there must be as much work for it.
constexpr int64_t kWakeNs = 60'000;
// How long a helper without a call looks for another.
constexpr int64_t kLookNs = 15'000;
// Each call counts for this much of a turn at least.
constexpr int64_t kMinCallNs = 2'000;

}  // namespace

Scheduler::Scheduler(Client* client, const Executor::Args& args)
    : DeferredRun(args.step_id),
      client_(client),
      task_runner_(args.task_runner),
      runner_(args.runner),
      status_(args.rendezvous, args.cancellation, args.deadline) {
  const bool keeps_order = args.deterministic && !args.nodes_in_any_order;
  if (task_runner_ != nullptr && !args.run_all_kernels_inline && !keeps_order) {
    max_helpers_ = task_runner_->num_threads() - 1;
  }
}

void Scheduler::StartTimer() noexcept {
  if (!status_.has_deadline()) return;
  {
    const ThreadRuns::Scope scope;  // As in WaitForWork.
    status_.CheckDeadline();
  }
  try {
    timer_ = DeadlineTimer::Global().Add(status_.deadline(),
                                         [run = CountedPtr<Scheduler>::Share(this)] { run->status_.CheckDeadline(); });
    // The thread in RunToEnd looks at the clock itself.
    if (timer_ == DeadlineTimer::kNone && !has_waiter_) status_.Record(DeadlineTimer::NoThread());
  } catch (...) {
    status_.Record(StatusOfCaught());
  }
}

void Scheduler::Start() noexcept {
  const CountedPtr<Scheduler> held = CountedPtr<Scheduler>::Share(this);
  StartTimer();
  if (runner_ != nullptr) return HandBaton</*kIsStart=*/true>();
  TakeBaton</*kIsStart=*/true>();
}

void Scheduler::RunToEnd() noexcept {
  has_waiter_ = true;
  const CountedPtr<Scheduler> held = CountedPtr<Scheduler>::Share(this);
  const ThreadRuns::AwaitScope awaited(*this);
  StartTimer();
  bool has_baton = runner_ == nullptr;
  if (runner_ != nullptr) HandBaton</*kIsStart=*/true>();
  do {
    if (has_baton || runner_ == nullptr) Work(has_baton, nullptr);
  } while (WaitForWork(&has_baton));
}

bool Scheduler::Work(bool has_baton, Turn* turn) noexcept {
  const ThreadRuns::Scope scope;
  const FlushDenormals flush;
  const CheckScope checks;
  for (;;) {
    if (has_baton) {
      holders_turn_ = turn;
      const Progress progress = client_->RunWithBaton();
      if (progress == Progress::kOver) {
        End();
        return false;
      }
      if (progress == Progress::kTurnOver) {
        HandBaton</*kIsStart=*/false>();
        return false;
      }
    }
    NodeCall* const call = TakeCall();
    if (call == nullptr) return false;
    bool is_last = false;
    if (turn != nullptr) {
      // Must happen before the call ends, which keeps the run alive: afterwards the task runner may be gone.
      turn->left_ns -= std::max<int64_t>(call->cost_ns, kMinCallNs);
      is_last = turn->left_ns <= 0 && task_runner_->HasWaitingTasks() && ScheduleHelper();
    }
    ThreadRuns::Current().HandToOwnThreads();
    has_baton = client_->RunCall(*call) && inbox_.Push(call);
    if (!is_last) continue;
    if (has_baton) HandBaton</*kIsStart=*/false>();
    return true;
  }
}

void Scheduler::End() noexcept {
  if (timer_ != DeadlineTimer::kNone) DeadlineTimer::Global().Remove(status_.deadline(), timer_);
  client_->Finish();
  MutexLock lock(&mu_);
  is_over_ = true;
  if (waiter_ != nullptr) waiter_->SignalAll();
}

bool Scheduler::WaitForWork(bool* has_baton) noexcept {
  ThreadRuns& runs = ThreadRuns::Current();
  CondVar changed;
  bool has_timed_out = false;
  for (;;) {
    // Before each sleep, since CheckDeadline below defers runs, too: nothing that this thread has deferred may wait for
    // this wait, and its own run is continued here.
    if (runs.Remove(this)) {
      Unref();
      return *has_baton = true;
    }
    runs.HandToAnyThread();
    {
      MutexLock lock(&mu_);
      waiter_ = &changed;
      bool passed = false;
      while (!is_over_ && !is_offered_ && (runner_ != nullptr || queue_.empty()) && !passed) {
        if (status_.has_deadline() && !has_timed_out) {
          passed = changed.WaitWithDeadline(&mu_, status_.deadline());
        } else {
          changed.Wait(&mu_);
        }
      }
      waiter_ = nullptr;
      if (is_over_) return false;
      if (!passed || is_offered_ || (runner_ == nullptr && !queue_.empty())) {
        *has_baton = std::exchange(is_offered_, false);
        return true;
      }
    }
    has_timed_out = true;
    // Runs that it makes ready continue afterwards, on the thread that Note [Deferred runs] names.
    const ThreadRuns::Scope scope;
    status_.CheckDeadline();
  }
}

bool Scheduler::OfferBaton() noexcept {
  if (!has_waiter_) return false;
  MutexLock lock(&mu_);
  if (waiter_ == nullptr || runner_ != nullptr) return false;
  is_offered_ = true;
  waiter_->SignalAll();
  return true;
}

void Scheduler::CallEnded(NodeCall* call) noexcept {
  if (!inbox_.Push(call) || OfferBaton()) return;
  ThreadRuns& runs = ThreadRuns::Current();
  if (runs.depth() > 0) {
    Ref();
    return runs.Push(this);
  }
  if (runner_ != nullptr || max_helpers_ > 0) return HandBaton</*kIsStart=*/false>();
  ContinueHere();
}

void Scheduler::RunTask() noexcept {
  const CountedPtr<Scheduler> held = CountedPtr<Scheduler>::Adopt(this);
  Work(true, nullptr);
}

bool Scheduler::HandOver(To to) noexcept {
  if (runner_ == nullptr) {
    if (to == To::kRunner || task_runner_ == nullptr) return false;
    if (to == To::kOwnThreads && max_helpers_ == 0) return false;
  }
  const CountedPtr<Scheduler> held = CountedPtr<Scheduler>::Adopt(this);
  HandBaton</*kIsStart=*/false>();
  return true;
}

template <bool kIsStart>
void Scheduler::HandBaton() noexcept {
  using Task = OnceCallback<CountedPtr<Scheduler>, &Scheduler::TakeBaton<kIsStart>, &Scheduler::WasDropped>;
  const CountedPtr<Scheduler> held = CountedPtr<Scheduler>::Share(this);
  EndHandOff(HandToThreads(*this, runner_, task_runner_, Task(held)));
}

void Scheduler::WasDropped() noexcept { EndHandOff(TaskWasDropped(*this)); }

void Scheduler::EndHandOff(const absl::Status& dropped) noexcept {
  if (dropped.ok()) return;
  status_.Record(dropped);
  ContinueHere();
}

template <bool kIsStart>
void Scheduler::TakeBaton() noexcept {
  const int depth = ThreadRuns::Current().depth();
  if (depth > 0 && (!kIsStart || depth >= ThreadRuns::kMaxNested)) return ContinueHere();
  Turn turn;
  const bool is_on_pool = runner_ == nullptr && !kIsStart;
  Work(true, is_on_pool && task_runner_ != nullptr ? &turn : nullptr);
}

void Scheduler::ContinueHere() noexcept {
  ThreadRuns& runs = ThreadRuns::Current();
  const CountedPtr<Scheduler> held = CountedPtr<Scheduler>::Share(this);
  if (runs.MayContinue(*this)) {
    Work(true, nullptr);
  } else {
    const ThreadRuns::Scope scope;  // If this is the outermost scope, its end gives the run to other threads.
    Ref();
    runs.PushLocal(this);
  }
}

void Scheduler::Queue(NodeCall* call) noexcept {
  MutexLock lock(&mu_);
  queue_.PushBack(call);
  queued_ns_ += call->cost_ns;
  num_queued_.fetch_add(1, std::memory_order_relaxed);  // Relaxed: looked at again under the lock.
}

NodeCall* Scheduler::TakeCall() noexcept {
  if (num_queued_.load(std::memory_order_relaxed) == 0) return nullptr;
  MutexLock lock(&mu_);
  if (queue_.empty()) return nullptr;
  NodeCall* const call = queue_.PopFront();
  queued_ns_ -= call->cost_ns;
  num_queued_.fetch_sub(1, std::memory_order_relaxed);
  return call;
}

void Scheduler::WakeHelpers(bool is_busy) noexcept {
  const int64_t num_queued = static_cast<int64_t>(num_queued_.load(std::memory_order_relaxed));
  if (num_queued == 0) return;
  int wanted = 0;
  {
    MutexLock lock(&mu_);
    const int64_t spare = static_cast<int64_t>(num_queued_.load(std::memory_order_relaxed)) - (is_busy ? 0 : 1);
    if (spare <= 0 || queued_ns_ < kWakeNs) return;
    if (waiter_ != nullptr) waiter_->SignalAll();
    const int64_t worth = std::min(spare, queued_ns_ / kWakeNs) - (waiter_ != nullptr ? 1 : 0);
    wanted = static_cast<int>(std::max<int64_t>(0, std::min<int64_t>(max_helpers_ - num_helpers_, worth)));
  }
  for (int i = 0; i < wanted; ++i) ScheduleHelper();
}

bool Scheduler::ScheduleHelper() noexcept {
  using Task = OnceCallback<CountedPtr<Scheduler>, &Scheduler::Help, &Scheduler::HelperLeaves>;
  {
    MutexLock lock(&mu_);
    ++num_helpers_;
  }
  try {
    task_runner_->Schedule(Task(CountedPtr<Scheduler>::Share(this)));
    return true;
  } catch (...) {
    return false;  // The task was destroyed, so there is no helper; other threads do the work.
  }
}

void Scheduler::HelperLeaves() noexcept {
  MutexLock lock(&mu_);
  --num_helpers_;
}

bool Scheduler::IsTurnOver() const {
  return holders_turn_ != nullptr && holders_turn_->left_ns <= 0 && task_runner_->HasWaitingTasks();
}

void Scheduler::Help() noexcept {
  // A host that runs closures immediately has nested this call in the run's own work: do not nest it a second time.
  Turn turn;
  Turn* const mine = ThreadRuns::Current().depth() == 0 ? &turn : nullptr;
  for (;;) {
    if (Work(false, mine)) return HelperLeaves();
    SpinUntil(kLookNs, [this] { return num_queued_.load(std::memory_order_relaxed) > 0; });
    MutexLock lock(&mu_);
    if (!queue_.empty()) continue;
    --num_helpers_;
    return;
  }
}

}  // namespace sluice
