#ifndef SLUICE_EXECUTOR_THREADS_THREAD_RUNS_H_
#define SLUICE_EXECUTOR_THREADS_THREAD_RUNS_H_

// Note [Deferred runs]
// A thread that is in a kernel of one run may set others free: a Send ends another run's Recv, a cancellation ends
// many. It does not continue those there and then: kernels would run inside kernels, `done` would be called inside a
// kernel, and the stack would grow with the length of the chain. Such a run is deferred: it waits in a list of the
// thread's until the thread is in no run any more.
//
// Nothing may wait there for a thread that is not coming. So deferred runs are handed over: to their own threads before
// the thread begins a kernel that takes long, and at once where the thread's run has a single long stretch before it
// (the serial driver); and to any thread there is, a service thread at worst, before the thread waits.
//
// A thread whose caller waits for one run, or for one step, works for nothing else: at the end of the outermost run the
// others are handed over, those without threads to a service thread. So the caller does not wait for what they do (it
// comes back at its deadline), and holds no lock that they might want. Only a thread that waits for nothing continues
// runs without threads itself.
//
// Invariant: when a thread begins to sleep, its list is empty (or the system gives no service thread). So every loop
// that sleeps gives the list away before each sleep, not once before the loop: what it does in between, a look at its
// deadline above all, may defer runs, its own included.

#include <cstdint>
#include <utility>

#include "absl/base/optimization.h"
#include "executor/threads/intrusive_queue.h"
#include "executor/threads/service_threads.h"
#include "graph/base/strong_id.h"

namespace sluice {

// A run that can be continued by a thread that is in no other: RunTask does so. Whatever holds a pointer to one for
// that purpose owns one reference, which RunTask and a successful HandOver consume.
class DeferredRun : public ServiceThreads::Task {
 public:
  enum class To : uint8_t {
    kRunner,       // Only to the host's Runner (Args::runner); runs without one refuse.
    kOwnThreads,   // Where the run may use several threads.
    kAnyOwnThread  // Also where it has one alone, or uses one at a time.
  };
  // Has threads of the run's continue it. False, and nothing happens, when it has no such threads.
  virtual bool HandOver(To to) noexcept = 0;

  // The step that it is a part of; invalid: it is not known to be part of one.
  StepId step_id() const { return step_id_; }

 protected:
  explicit DeferredRun(StepId step_id) : step_id_(step_id) {}
  ~DeferredRun() = default;

 private:
  friend class ThreadRuns;
  const StepId step_id_;
  DeferredRun* next_deferred_ = nullptr;
};

// A thread's state: how many runs it is in, one inside the other, and the runs that it has deferred. See Note [Deferred
// runs]. Used by the thread itself alone.
class ThreadRuns {
 private:
  // What the caller of this thread waits for, if it does.
  struct Awaited {
    bool Has(const DeferredRun& other) const {
      return &other == run || (step_id.valid() && other.step_id() == step_id);
    }

    bool is_awaited = false;
    const DeferredRun* run = nullptr;
    StepId step_id;
  };

 public:
  // Runs that a thread begins inside of one another, each from the `done` or a kernel of the one before. More are
  // deferred.
  static constexpr int kMaxNested = 16;

  static ThreadRuns& Current() {
    thread_local ThreadRuns runs;  // Constant-initialised.
    return runs;
  }

  // While it lives, its thread is in a run (one more). At the end of the outermost, continues what was deferred.
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
  // The same, but hands deferred runs that have threads over at once.
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
  // While it lives, the caller of this thread waits for `run` and the other parts of its step, and for nothing else:
  // what is continued at the end of the outermost run. `run` outlives this.
  class AwaitScope {
   public:
    explicit AwaitScope(const DeferredRun& run) : AwaitScope(Awaited{true, &run, run.step_id()}) {}
    // The same where no DeferredRun stands for the run, of step `step_id` (which may be invalid).
    explicit AwaitScope(StepId step_id) : AwaitScope(Awaited{true, nullptr, step_id}) {}
    AwaitScope(const AwaitScope&) = delete;
    AwaitScope& operator=(const AwaitScope&) = delete;
    ~AwaitScope() { runs_.awaited_ = outer_; }

   private:
    explicit AwaitScope(const Awaited& awaited) : runs_(Current()), outer_(std::exchange(runs_.awaited_, awaited)) {}

    ThreadRuns& runs_;
    const Awaited outer_;
  };
  // For a thread that waits for a step, perhaps inside a kernel, and works meanwhile: while it lives, the thread counts
  // as in no run. Runs of others that are deferred meanwhile are not continued inside of that kernel. Begins with
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

  // Runs that this thread is in.
  int depth() const { return depth_; }
  // Whether `run` may be continued here and now: the thread is in no run, and its caller does not wait for another.
  bool MayContinue(const DeferredRun& run) const { return depth_ == 0 && (!awaited_.is_awaited || awaited_.Has(run)); }

  // Puts `run` on the list, or hands it to its own threads where this thread is in a HandOverScope.
  // REQUIRES: depth() > 0.
  void Push(DeferredRun* run) noexcept {
    if (!hands_over_ || !run->HandOver(DeferredRun::To::kOwnThreads)) PushLocal(run);
  }
  // Puts `run` on the list, whatever this thread is in.
  void PushLocal(DeferredRun* run) noexcept { deferred_.PushBack(run); }
  // Takes `run` off the list. False when it is not there.
  bool Remove(DeferredRun* run) noexcept { return deferred_.Remove(run); }

  bool has_deferred() const { return !deferred_.empty(); }
  // Before something that takes long: hands the deferred runs that have threads to those.
  void HandToOwnThreads() noexcept {
    if (ABSL_PREDICT_FALSE(!deferred_.empty())) HandAll(DeferredRun::To::kOwnThreads);
  }
  // Before a wait: hands all deferred runs to their own threads, as far as `to` says, and the rest to service threads.
  void HandToAnyThread(DeferredRun::To to = DeferredRun::To::kAnyOwnThread) noexcept;

 private:
  using List = IntrusiveQueue<DeferredRun, &DeferredRun::next_deferred_>;

  void HandAll(DeferredRun::To to) noexcept;
  // At the end of the outermost run.
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
