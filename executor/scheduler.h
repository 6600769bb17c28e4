#ifndef SLUICE_EXECUTOR_SCHEDULER_H_
#define SLUICE_EXECUTOR_SCHEDULER_H_

// Note [Baton]
// One thread at a time holds the baton of a run: it alone moves values along edges, counts arrivals and runs cheap
// nodes, and needs no atomic for any of it. Long kernels go to other threads: the holder queues calls of expensive
// kernels; threads take them from the queue, run them without the baton and push what has ended to the inbox. If the
// baton is free then, the pushing thread takes it. Asynchronous kernels end the same way, on whatever thread. A holder
// with nothing left to do gives the baton back and takes a queued call itself. So there is no lock and no closure per
// node, no thread waits for another while there is work, and cheap nodes cost the same with one thread or eight.
//
// The run is over when its holder finds nothing ready and nothing under way.

// Note [Turns]
// Threads of a pool serve many runs. The work of one of them for a run is a turn: calls and nodes of some 200 us, by
// what they are expected to cost. When the turn is over and other tasks wait, the thread puts the rest at the end of
// the pool's queue and leaves. So no run keeps a pool for itself, however many nodes it has. A thread that a host lends
// (in Run, or in RunAsync) serves its own run as long as there is something to do.

// Note [Exceptions]
// No exception propagates through the scheduler. A Client turns exceptions of kernels, and its own, into the status of
// the run. If a TaskRunner or a Runner throws when it is given work, the work stays on this thread, and the run ends
// with the error. Queues are linked lists through their calls, so that queuing cannot fail.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "executor/call_inbox.h"
#include "executor/executor.h"
#include "executor/run_status.h"
#include "executor/threads/intrusive_queue.h"
#include "executor/threads/thread_runs.h"
#include "graph/base/mutex.h"
#include "graph/value/counted.h"

namespace sluice {

// Coordinates the threads of one run: who holds the baton, which calls are queued, which threads help, which one waits.
// See Note [Baton]. Counted: every thread that works on the run holds a reference, so it lives on after the run until
// the last helper has left (one of the shared things of STYLE.md rule 17: the run state held by callbacks).
// Thread-safe.
class Scheduler final : public Counted, public DeferredRun {
 public:
  // Why RunWithBaton returned.
  enum class Progress : uint8_t {
    kOver,     // The run is over; the baton is kept.
    kWaiting,  // The baton was given back, and the client may be gone.
    kTurnOver  // Work remains, but IsTurnOver(); the baton is kept.
  };
  // The run's ExecutorState. Throws nothing.
  class Client {
   public:
    virtual ~Client() = default;
    // Works until one of the above. Called with the baton held.
    virtual Progress RunWithBaton() noexcept = 0;
    // Runs a queued call. Called without the baton. Returns false if the call is asynchronous and will end by itself.
    virtual bool RunCall(NodeCall& call) noexcept = 0;
    // Called after RunWithBaton has returned kOver: releases what the run holds and calls `done`. Destroys the client.
    virtual void Finish() noexcept = 0;
  };

  // `client` must stay alive until its Finish. Helpers come from `args.task_runner` (null: no helpers), the thread to
  // begin on from `args.runner`. Neither is used once Finish has begun.
  Scheduler(Client* client, const Executor::Args& args);

  // Whether other threads may take part in running nodes.
  bool has_helpers() const { return max_helpers_ > 0; }
  CallInbox& inbox() { return inbox_; }
  RunStatus& status() { return status_; }

  // Begins the run and works on it, on this thread or the runner's, while there is something to do. If this thread is
  // already nested too deeply in other runs, the run is deferred: see Note [Deferred runs].
  void Start() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Begins the run, works on it, and returns when it is over. When the deadline passes, records that, which stops the
  // run, but still waits for its end.
  void RunToEnd() noexcept ABSL_LOCKS_EXCLUDED(mu_);

  // Queues a call for any thread. The baton holder must call WakeHelpers afterwards.
  void Queue(NodeCall* call) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Wakes helpers for the queued calls if their cost justifies it. `is_busy`: the caller has other work itself.
  // REQUIRES: the baton.
  void WakeHelpers(bool is_busy) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Reports, on any thread, that an asynchronous call has ended. Continues the run on this thread, hands it to the
  // thread in RunToEnd, or defers it.
  void CallEnded(NodeCall* call) noexcept ABSL_LOCKS_EXCLUDED(mu_);

  // Counts `ns` of work towards the turn of the thread that holds the baton. REQUIRES: the baton.
  void SpendTurn(int64_t ns) {
    if (holders_turn_ != nullptr) holders_turn_->left_ns -= ns;
  }
  // Whether RunWithBaton should return kTurnOver because other tasks wait for this thread. REQUIRES: the baton.
  bool IsTurnOver() const;

  // How much work a pool thread does for one run before others get the thread. See Note [Turns].
  static constexpr int64_t kTurnNs = 200'000;

 private:
  struct Turn {
    int64_t left_ns = kTurnNs;
  };

  // DeferredRun.
  void RunTask() noexcept override;
  bool HandOver(To to) noexcept override;

  // Sets the timer that stops kernels at the deadline: all threads may be inside kernels then.
  void StartTimer() noexcept;
  // Works until this thread has nothing left to do, or `turn` (may be null: unlimited) is over. Returns true if the
  // turn ended and the rest was scheduled.
  bool Work(bool has_baton, Turn* turn) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Hands the baton to one of the run's threads, or continues on this one if none takes it. `kIsStart`: nothing has run
  // yet.
  template <bool kIsStart>
  void HandBaton() noexcept;
  // Runs on the thread that received the baton from HandBaton.
  template <bool kIsStart>
  void TakeBaton() noexcept;
  // Called with the baton when the task that carried it was destroyed instead of called.
  void WasDropped() noexcept;
  // If the hand-off failed with the error `dropped`, ends the run with it: this thread still has the baton.
  void EndHandOff(const absl::Status& dropped) noexcept;
  // Continues with the baton on this thread, at once, or after the runs that the thread is in.
  void ContinueHere() noexcept;
  void Help() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Returns false if the task runner refuses. REQUIRES: the run cannot end during the call.
  bool ScheduleHelper() noexcept;
  void HelperLeaves() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  NodeCall* TakeCall() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  void End() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Waits for a queued call, the baton or the end of the run; returns false at the end.
  bool WaitForWork(bool* has_baton) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Hands the baton to the thread in RunToEnd if it sleeps; returns whether it did.
  bool OfferBaton() noexcept ABSL_LOCKS_EXCLUDED(mu_);

  // Immutable after construction.
  Client* const client_;
  TaskRunner* const task_runner_;
  const Runner* const runner_;
  int max_helpers_ = 0;

  int64_t timer_ = -1;       // Of DeadlineTimer; set at the start.
  bool has_waiter_ = false;  // Whether some thread is in RunToEnd; set before anything runs.
  RunStatus status_;
  CallInbox inbox_;
  std::atomic<size_t> num_queued_{0};  // Of queue_, for looks without the lock.
  Turn* holders_turn_ = nullptr;       // The baton holder's.

  Mutex mu_;
  IntrusiveQueue<NodeCall, &NodeCall::next> queue_ ABSL_GUARDED_BY(mu_);
  int64_t queued_ns_ ABSL_GUARDED_BY(mu_) = 0;
  int num_helpers_ ABSL_GUARDED_BY(mu_) = 0;
  CondVar* waiter_ ABSL_GUARDED_BY(mu_) = nullptr;  // What the thread in RunToEnd sleeps on; null while it is awake.
  bool is_offered_ ABSL_GUARDED_BY(mu_) = false;    // The baton is waiting for it.
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SCHEDULER_H_
