#ifndef SLUICE_EXECUTOR_EXECUTOR_H_
#define SLUICE_EXECUTOR_EXECUTOR_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "kernels/run_context.h"

namespace sluice {

// Hands a piece of work to some thread: how a host controls where an executor runs. Called from any thread, and may run
// the work before it returns. A piece that it drops instead ends its run with kRunCancelled.
using Runner = absl::AnyInvocable<void(absl::AnyInvocable<void()>) const>;

// Note [Threads of a run]
// For hosts: which threads call what, and until when.
// - RunAsync works on the calling thread until nothing more can be done without waiting, so that `done` may be called
//   before it returns. With a `runner` it works there instead.
// - `done` is called on the thread that has done the last piece of work: the caller of RunAsync, a thread of
//   `task_runner` or `runner`, one that ended an asynchronous kernel (by a Send into the rendezvous, say), one that
//   cancelled, or a service thread: for a run without threads whose deadline has passed, or whose thread was about to
//   wait for something else, or has a caller that waits for something else. Never the one thread that watches the
//   deadlines of the process, unless the system gives no other.
// - A thread in Run works for that run and the other parts of its step, and for no others: the runs of others that it
//   makes ready go to their threads, or to a service thread. So it comes back at its deadline, and the host may hold a
//   lock that the `done` of others takes. Service threads are few, whatever waits: Note [Service threads].
// - `done` is not called from inside a kernel of any run, with one exception: where a kernel itself calls RunAsync, the
//   run that it starts may be over before that call returns. It may start runs (chains of them do not grow the stack),
//   and free the manager, the rendezvous, the call frame and everything else that the run was given, also where it is
//   called from inside of a StartCancel or StartAbort of the host's. What it throws is logged.
// - `done` may block. Where it waits for another run, by other means than Executor::Run or the calls of a Session, it
//   calls BeforeWaiting first: what its own run has set free, and has no threads, waits for this very thread. It must
//   not wait for a run that needs the pool's thread that it is on, nor, inside of a StartCancel, for one under that
//   manager: the callback that would end it may come after this one, and the destructor of a manager below waits for
//   the cancellation to be through.
// - A thread that sets another run free inside of a kernel continues it when it has left that kernel's run, or hands it
//   to the other run's threads. A kernel must not wait for another run, but by Executor::Run (or a Session), which
//   works meanwhile.
// - After `done` was called, closures of the run may still lie in `task_runner` or `runner`. They touch nothing that
//   the host has given to the run.

// Runs one graph on one device, any number of times at once. Made by NewLocalExecutor (compiled/local_executor.h).
//
//   Executor::Args args;
//   args.step_id = StepId(1);
//   args.rendezvous = rendezvous.get();
//   executor->RunAsync(args, [&](absl::Status status) { ... });
//
// Immutable; thread-safe.
class Executor {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // What one run may use: the record that its kernels see, and what concerns the executor alone. Every pointer may be
  // null: a node that needs it then fails (kFacilityMissing). All of it is borrowed and must live until `done` was
  // called (see Note [Threads of a run]); `allocator` longer: until the last of the resources, kept tensors and results
  // that were made in the run has gone.
  //
  // Of the base,
  // - `device` and `resources` are the executor's, whatever stands here, and so is `allocator` where it is null;
  // - the first error of the run aborts `rendezvous` and cancels `cancellation` with it, so that nothing waits in vain:
  //   the executors of one step share them, steps do not (but see cancel_on_error). Without them, a run that has failed
  //   is over when its asynchronous kernels have ended by themselves;
  // - `task_runner` gives threads for nodes and for work inside kernels. Null, and no runner: everything runs on the
  //   thread that calls RunAsync or Run, and on those that complete asynchronous kernels (on service threads where
  //   these are about to wait, or are in another's Run: Note [Deferred runs] in thread_runs.h).
  struct Args : RunContext {
    // Where the run begins and continues instead of on the calling thread, when it is set. Alone, it also gives the
    // threads for nodes and for work inside kernels, as a RunnerAdapter (runner_adapter.h) of as many threads as there
    // are processors would; a host that wants another number sets task_runner to an adapter of its own.
    const Runner* runner = nullptr;
    bool sync_on_finish = false;  // Wait for the device's queued work before `done`.
    // One thread at a time, also inside kernels: task_runner is not used.
    bool run_all_kernels_inline = false;
    // With `deterministic`: nodes may run at once all the same. For graphs without effects and without merges that take
    // what comes first, in which the order of nodes changes no result.
    bool nodes_in_any_order = false;
  };

  virtual ~Executor() = default;

  // Runs the graph and calls `done` once with the first error, or OK, after all work of the run has stopped. A graph
  // without nodes is done at once. Throws nothing: without memory to begin, `done` gets kOutOfMemory. `args` itself is
  // read before this returns; the executor must live until `done` was called.
  virtual void RunAsync(const Args& args, Done done) const = 0;
  // Runs the graph and returns the first error, or OK, after all work of the run has stopped. May be called from inside
  // a kernel. The calling thread of a local executor works meanwhile; by default, it waits until RunAsync has called
  // `done`, or has dropped it: kRunCancelled, or what RunAsync has thrown.
  virtual absl::Status Run(const Args& args) const;
  // Whether RunAsync would, for all that is known, do the whole run on this thread before it returns. Then Run does no
  // less, and its caller keeps on the stack what a run that outlives its call needs on the heap. Looks at the threads,
  // the observer and the options of `args` alone, and at the runs that the calling thread is in.
  virtual bool RunsAtOnce(const Args& /*args*/) const { return false; }
};

// Before a thread waits for a run that others may have to continue, in a `done`, say: the runs that it has made
// ready or begun, and would itself continue later, go to other threads, or to service threads where there are none.
// Call it right before the wait; it costs nothing where there is no such run.
void BeforeWaiting() noexcept;

// What a run answers whose executor has destroyed its `done` uncalled.
absl::Status DoneWasDropped() noexcept;

// For executors: calls `done`, which is the host's. What it throws is logged.
void CallDone(Executor::Done done, const absl::Status& status) noexcept;
// The same for a run that is over before it has begun: now, or, where the thread is in many runs, when it has left
// those. So chains of such runs do not grow the stack.
void EndAtOnce(Executor::Done done, absl::Status status) noexcept;

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_EXECUTOR_H_
