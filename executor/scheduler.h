#ifndef SLUICE_EXECUTOR_SCHEDULER_H_
#define SLUICE_EXECUTOR_SCHEDULER_H_

// Note [Baton]
// One thread at a time holds the baton of a run: it alone moves values along edges, counts arrivals and runs cheap
// nodes, and needs no atomic for any of it. What takes long goes to other threads: the holder queues calls of expensive
// kernels; threads take them from the queue, run them without the baton and push what has ended to the inbox. If nobody
// holds the baton then, the pusher does. Asynchronous kernels end the same way, on whatever thread. A holder with
// nothing left to do gives the baton back and takes a queued call itself. So there is no lock and no closure per node,
// no thread waits for another while there is work, and cheap nodes cost the same with one thread or eight.
//
// The run is over when its holder finds nothing ready and nothing under way.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "executor/call_inbox.h"
#include "executor/executor.h"
#include "executor/run_status.h"
#include "graph/base/mutex.h"
#include "graph/value/counted.h"

namespace sluice {

// The threads of one run: who holds the baton, what is queued, who helps, who waits. See Note [Baton].
// Counted: whoever works on the run holds it; it outlives the run's end until the last helper has left (one of the
// shared things of STYLE.md rule 17: the run state held by callbacks). Thread-safe.
class Scheduler : public Counted {
 public:
  // What is run: the ExecutorState.
  class Client {
   public:
    virtual ~Client() = default;
    // With the baton: does all there is to do. True: the run is over; the baton is kept. False: the baton was given
    // back, and this may be gone.
    virtual bool Propagate() = 0;
    // Without the baton: runs a queued call. False: the call will end by itself.
    virtual bool Execute(NodeCall& call) = 0;
    // After Propagate returned true: hands back what the run holds. This is gone then.
    virtual void Finish() = 0;
  };

  // `client` finishes before it goes. `task_runner` gives helpers (may be null: none), `runner` threads to begin on.
  Scheduler(Client* client, const Executor::Args& args);

  // Whether other threads may take part in running nodes.
  bool has_helpers() const { return max_helpers_ > 0; }
  CallInbox& inbox() { return inbox_; }
  RunStatus& status() { return status_; }

  // Begins the run, and goes on with it on this thread as long as there is something to do (or on the runner's).
  // `client` calls the run's Done in Finish.
  void Start() ABSL_LOCKS_EXCLUDED(mu_);
  // Begins the run and returns when it is over; works meanwhile. When the deadline passes, that is recorded, which
  // stops everything, and the end is waited for all the same.
  void RunToEnd() ABSL_LOCKS_EXCLUDED(mu_);

  // Queues a call for any thread. The holder calls WakeHelpers some time after.
  void Queue(NodeCall* call) ABSL_LOCKS_EXCLUDED(mu_);
  // To be called before a kernel that takes long: other runs that were to go on behind it on this thread go on
  // elsewhere, where they have threads.
  static void HandOverPutOff();
  // Gets help for the queued calls where that pays. `is_busy`: the caller has other things to do.
  void WakeHelpers(bool is_busy) ABSL_LOCKS_EXCLUDED(mu_);
  // An asynchronous call has ended, on any thread; goes on with the run there, or has its waiting thread do so.
  void CallEnded(NodeCall* call) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Runs that got the baton on this thread while it was inside another run's kernel: they go on when it is not.
  struct ThreadState {
    int depth = 0;  // Work() calls on the stack.
    bool is_draining = false;
    Scheduler* first_put_off = nullptr;
    Scheduler* last_put_off = nullptr;
  };
  static ThreadState& ThisThread();
  // Goes on with what was put off on this thread.
  static void RunPutOff();

  // Work with the baton for another thread. Where it is dropped instead of called, the run ends with kRunCancelled on
  // the thread that drops it: nobody waits for ever. Called or destroyed by one thread.
  class BatonTask {
   public:
    explicit BatonTask(Scheduler* run) : run_(CountedPtr<Scheduler>::Share(run)) {}
    BatonTask(BatonTask&&) noexcept = default;
    BatonTask& operator=(BatonTask&&) = delete;
    ~BatonTask() {
      if (run_) run_->WasDropped();
    }
    void operator()() {
      const CountedPtr<Scheduler> run = std::move(run_);
      run->Work(true);
    }

   private:
    CountedPtr<Scheduler> run_;  // Null when it was moved or called.
  };
  // With the baton: ends the run, since its runner does not run it.
  void WasDropped() ABSL_LOCKS_EXCLUDED(mu_);
  // All threads may be in kernels when the deadline comes, which have to be told of it.
  void StartTimer();
  // Works until there is nothing more to do here.
  void Work(bool has_baton) ABSL_LOCKS_EXCLUDED(mu_);
  // Goes on with the baton: on this thread, now or when the kernel it is in has returned, or on another.
  void GoOn() ABSL_LOCKS_EXCLUDED(mu_);
  void PutOff();
  // Has `call` run with a reference to this held.
  template <typename Call>
  absl::AnyInvocable<void()> Holding(Call call);
  void Help() ABSL_LOCKS_EXCLUDED(mu_);
  NodeCall* TakeCall() ABSL_LOCKS_EXCLUDED(mu_);
  void End() ABSL_LOCKS_EXCLUDED(mu_);
  void DeadlinePassed();
  // Waits for the end, a call or the baton. Returns false at the end.
  bool WaitForWork(bool* has_baton) ABSL_LOCKS_EXCLUDED(mu_);
  // Whether to hand the baton to the thread in RunToEnd, which sleeps.
  bool OfferBaton() ABSL_LOCKS_EXCLUDED(mu_);

  // Immutable after construction.
  Client* const client_;
  TaskRunner* const task_runner_;
  const Runner* const runner_;
  int max_helpers_ = 0;

  int64_t timer_ = -1;       // Of DeadlineTimer; set at the start.
  bool has_waiter_ = false;  // Whether some thread is in RunToEnd; set before anything runs.
  RunStatus status_;
  CallInbox inbox_;
  std::atomic<size_t> num_queued_{0};  // A copy of queue_.size(), for looks without the lock.
  Scheduler* next_put_off_ = nullptr;  // The baton holder's.

  Mutex mu_;
  CondVar changed_;
  std::deque<NodeCall*> queue_ ABSL_GUARDED_BY(mu_);
  int64_t queued_ns_ ABSL_GUARDED_BY(mu_) = 0;
  int num_helpers_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_waiting_ ABSL_GUARDED_BY(mu_) = false;  // The thread in RunToEnd sleeps.
  bool is_offered_ ABSL_GUARDED_BY(mu_) = false;  // It gets the baton.
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SCHEDULER_H_
