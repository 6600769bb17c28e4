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
// Nothing that is thrown passes through here. A Client turns exceptions of kernels and of its own into the status of
// the run. Where handing work to a TaskRunner or a Runner throws, the work stays on this thread, and the run ends with
// the error. Queues hold their calls by links: what must not fail cannot.

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

// The threads of one run: which of them holds the baton, what is queued, which help, which waits. See Note [Baton].
// Counted: every thread that works on the run holds it; it outlives the run's end until the last helper has left (one
// of the shared things of STYLE.md rule 17: the run state held by callbacks). Thread-safe.
class Scheduler final : public Counted, public DeferredRun {
 public:
  // How a stretch of work with the baton ended.
  enum class Progress : uint8_t {
    kOver,     // The run is over; the baton is kept.
    kWaiting,  // The baton was given back, and the client may be gone.
    kTurnOver  // There is more to do, but IsTurnOver(); the baton is kept.
  };
  // The run's ExecutorState. Throws nothing.
  class Client {
   public:
    virtual ~Client() = default;
    // With the baton: does all there is to do.
    virtual Progress RunWithBaton() noexcept = 0;
    // Without the baton: runs a queued call. False: the call will end by itself.
    virtual bool RunCall(NodeCall& call) noexcept = 0;
    // After RunWithBaton returned kOver: hands back what the run holds, and calls `done`. This is gone then.
    virtual void Finish() noexcept = 0;
  };

  // `client` finishes before it goes. `args.task_runner` gives helpers (may be null: none), `args.runner` threads to
  // begin on. Neither is touched after Finish has begun.
  Scheduler(Client* client, const Executor::Args& args);

  // Whether other threads may take part in running nodes.
  bool has_helpers() const { return max_helpers_ > 0; }
  CallInbox& inbox() { return inbox_; }
  RunStatus& status() { return status_; }

  // Begins the run, and continues it on this thread as long as there is something to do (or on the runner's). Where
  // this thread is in many runs, one inside the other, the run is deferred: see Note [Deferred runs].
  void Start() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Begins the run and returns when it is over; works meanwhile. When the deadline passes, that is recorded, which
  // stops everything, and the end is waited for all the same.
  void RunToEnd() noexcept ABSL_LOCKS_EXCLUDED(mu_);

  // Queues a call for any thread. The holder calls WakeHelpers some time after.
  void Queue(NodeCall* call) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Gets help for the queued calls where that pays. `is_busy`: the caller has other things to do. REQUIRES: the baton.
  void WakeHelpers(bool is_busy) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // An asynchronous call has ended, on any thread: continues the run there, or has its waiting thread do so, or defers
  // it.
  void CallEnded(NodeCall* call) noexcept ABSL_LOCKS_EXCLUDED(mu_);

  // Counts `ns` of work towards the turn of the thread that holds the baton. REQUIRES: the baton.
  void SpendTurn(int64_t ns) {
    if (holders_turn_ != nullptr) holders_turn_->left_ns -= ns;
  }
  // Whether the holder is to return kTurnOver, since others wait for its thread. REQUIRES: the baton.
  bool IsTurnOver() const;

  // Work that is left to a thread of a pool before others get it. See Note [Turns].
  static constexpr int64_t kTurnNs = 200'000;

 private:
  struct Turn {
    int64_t left_ns = kTurnNs;
  };

  // DeferredRun.
  void RunTask() noexcept override;
  bool HandOver(To to) noexcept override;

  // All threads may be in kernels when the deadline comes, which have to be told to stop.
  void StartTimer() noexcept;
  // Works until there is nothing more to do here, or `turn` (may be null: none) is over. True: it was, and the rest has
  // been scheduled.
  bool Work(bool has_baton, Turn* turn) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Gives the baton to a thread of the run's, or continues here if none takes it. `kIsStart`: nothing has run yet.
  template <bool kIsStart>
  void HandBaton() noexcept;
  // Runs on the thread that received the baton from HandBaton.
  template <bool kIsStart>
  void TakeBaton() noexcept;
  // With the baton: its task was dropped instead of called.
  void WasDropped() noexcept;
  // Ends the run with `dropped`, the outcome of a hand-off, if that is an error: the baton has stayed here.
  void EndHandOff(const absl::Status& dropped) noexcept;
  // Continues with the baton on this thread, now or when it has left the runs that it is in.
  void ContinueHere() noexcept;
  void Help() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // False: the threads do not take one. REQUIRES: the run cannot end meanwhile.
  bool ScheduleHelper() noexcept;
  void HelperLeaves() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  NodeCall* TakeCall() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  void End() noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Waits for the end, a call or the baton. Returns false at the end.
  bool WaitForWork(bool* has_baton) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // Whether to hand the baton to the thread in RunToEnd, which sleeps.
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
  CondVar* waiter_ ABSL_GUARDED_BY(mu_) = nullptr;  // What the thread in RunToEnd sleeps on; null: it does not sleep.
  bool is_offered_ ABSL_GUARDED_BY(mu_) = false;    // It gets the baton.
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SCHEDULER_H_
