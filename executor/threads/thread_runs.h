#ifndef SLUICE_EXECUTOR_THREADS_THREAD_RUNS_H_
#define SLUICE_EXECUTOR_THREADS_THREAD_RUNS_H_

// Note [Deferred runs]
// A thread in a kernel of one run may make other runs ready: a Send ends another run's Recv, a cancellation ends many.
// It does not continue them at once: kernels would run inside kernels, `done` would be called inside a kernel, and the
// stack would grow with the length of the chain. It defers such a run: keeps it in a list of its own until the thread
// has left all runs.
//
// No run may stay in that list while its thread is busy or asleep. So deferred runs are handed to their own threads
// before the thread begins a long kernel, and at once if the thread's run does not stop before its end (the serial
// driver); before the thread waits, they are handed to any other thread, if need be a service thread.
//
// A thread whose caller waits for one run or step works for nothing else: at the end of the outermost run it hands the
// others over, those without threads to a service thread. So the caller does not wait for other runs (it returns at its
// deadline), and they cannot need a lock that the caller holds. Only a thread whose caller waits for nothing continues
// runs without threads itself.
//
// Invariant: when a thread begins to sleep, its list is empty (or the system gives no service thread). So a loop that
// sleeps must hand the list over before each sleep, not once before the loop: the work between two sleeps, such as
// checking the deadline, may defer runs, including the loop's own.

#include <cstdint>
#include <utility>

#include "absl/base/optimization.h"
#include "executor/threads/intrusive_queue.h"
#include "executor/threads/service_threads.h"
#include "graph/base/strong_id.h"

namespace sluice {

// A run that can be continued by RunTask, on a thread that is in no other run. A pointer held for that purpose owns one
// reference, which RunTask and a successful HandOver consume.
class DeferredRun : public ServiceThreads::Task {
 public:
  enum class To : uint8_t {
    kRunner,       // Only to the host's Runner (Args::runner); runs without one refuse.
    kOwnThreads,   // Only if the run may use several threads.
    kAnyOwnThread  // Also if it has only one thread, or uses one at a time.
  };
  // Hands the run to its own threads. Returns false, without effect, if it has no such threads.
  virtual bool HandOver(To to) noexcept = 0;

  // The step that the run is a part of; invalid if none is known.
  StepId step_id() const { return step_id_; }

 protected:
  explicit DeferredRun(StepId step_id) : step_id_(step_id) {}
  ~DeferredRun() = default;

 private:
  friend class ThreadRuns;
  const StepId step_id_;
  DeferredRun* next_deferred_ = nullptr;
};

// The state of a thread: how many nested runs it is in, and the runs that it has deferred. See Note [Deferred runs].
// Used only by its own thread.
class ThreadRuns {
 private:
  // What this thread's caller waits for, if anything.
  struct Awaited {
    bool Has(const DeferredRun& other) const {
      return &other == run || (step_id.valid() && other.step_id() == step_id);
    }

    bool is_awaited = false;
    const DeferredRun* run = nullptr;
    StepId step_id;
  };

 public:
  // How many runs a thread nests, each begun in a kernel or the `done` of the previous one. Further runs are deferred.
  static constexpr int kMaxNested = 16;

  static ThreadRuns& Current() {
    thread_local ThreadRuns runs;  // Constant-initialised.
    return runs;
  }

  // Marks its thread as in one more run. The end of the outermost Scope continues the deferred runs.
  class Scope {
   public:
    Scope() : runs_(Current()) { ++runs_.depth_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      if (--runs_.depth_ == 0 && ABSL_PREDICT_FALSE(!runs_.deferred_.empty())) runs_.RunAll(false);
    }

   private:
    ThreadRuns& runs_;
  };
  // As Scope, but hands runs that have threads to them at once instead of deferring them.
  class HandOverScope {
   public:
    HandOverScope() : runs_(Current()), outer_(std::exchange(runs_.hands_over_, true)) { ++runs_.depth_; }
    HandOverScope(const HandOverScope&) = delete;
    HandOverScope& operator=(const HandOverScope&) = delete;
    ~HandOverScope() {
      runs_.hands_over_ = outer_;
      if (--runs_.depth_ == 0 && ABSL_PREDICT_FALSE(!runs_.deferred_.empty())) runs_.RunAll(true);
    }

   private:
    ThreadRuns& runs_;
    const bool outer_;
  };
  // While it lives, this thread's caller waits only for `run` and the other parts of its step, and the end of the
  // outermost run continues nothing else on this thread. `run` must outlive this.
  class AwaitScope {
   public:
    explicit AwaitScope(const DeferredRun& run) : AwaitScope(Awaited{true, &run, run.step_id()}) {}
    // As above, for a run without a DeferredRun, of step `step_id` (which may be invalid).
    explicit AwaitScope(StepId step_id) : AwaitScope(Awaited{true, nullptr, step_id}) {}
    AwaitScope(const AwaitScope&) = delete;
    AwaitScope& operator=(const AwaitScope&) = delete;
    ~AwaitScope() { runs_.awaited_ = outer_; }

   private:
    explicit AwaitScope(const Awaited& awaited) : runs_(Current()), outer_(std::exchange(runs_.awaited_, awaited)) {}

    ThreadRuns& runs_;
    const Awaited outer_;
  };
  // For a thread that works while it waits for a step, possibly inside a kernel: while it lives, the thread counts as
  // in no run. Other runs deferred meanwhile are not continued inside that kernel. The constructor calls
  // HandToAnyThread.
  class WaitScope {
   public:
    explicit WaitScope(StepId awaited = StepId());
    WaitScope(const WaitScope&) = delete;
    WaitScope& operator=(const WaitScope&) = delete;
    ~WaitScope();

   private:
    ThreadRuns& runs_;
    const int depth_;
    const bool hands_over_, is_continuing_, is_nested_;
    const Awaited awaited_;
  };

  // The number of runs that this thread is in.
  int depth() const { return depth_; }
  // Whether `run` may be continued here and now: the thread is in no run, and its caller does not wait for another.
  bool MayContinue(const DeferredRun& run) const { return depth_ == 0 && (!awaited_.is_awaited || awaited_.Has(run)); }

  // Defers `run`; in a HandOverScope, hands it to its own threads if it has any.
  // REQUIRES: depth() > 0.
  void Push(DeferredRun* run) noexcept {
    if (!hands_over_ || !run->HandOver(DeferredRun::To::kOwnThreads)) PushLocal(run);
  }
  // Defers `run` even in a HandOverScope.
  void PushLocal(DeferredRun* run) noexcept { deferred_.PushBack(run); }
  // Takes `run` out of the list. Returns false if it is not there.
  bool Remove(DeferredRun* run) noexcept { return deferred_.Remove(run); }

  bool has_deferred() const { return !deferred_.empty(); }
  // Hands the deferred runs that have threads to them. Call it before a long kernel.
  void HandToOwnThreads() noexcept {
    if (ABSL_PREDICT_FALSE(!deferred_.empty())) HandAll(DeferredRun::To::kOwnThreads);
  }
  // Hands each deferred run to its own threads if `to` allows it, else to a service thread. Call it before a wait.
  void HandToAnyThread(DeferredRun::To to = DeferredRun::To::kAnyOwnThread) noexcept;

 private:
  using List = IntrusiveQueue<DeferredRun, &DeferredRun::next_deferred_>;

  void HandAll(DeferredRun::To to) noexcept;
  // Continues or hands over the deferred runs at the end of the outermost run.
  void RunAll(bool hands_over) noexcept;

  int depth_ = 0;
  bool hands_over_ = false;     // In a HandOverScope.
  bool is_continuing_ = false;  // RunAll is on the stack.
  bool is_nested_ = false;      // In a WaitScope inside of a run.
  Awaited awaited_;
  List deferred_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_THREADS_THREAD_RUNS_H_
