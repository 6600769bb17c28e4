#ifndef SLUICE_EXECUTOR_EXECUTOR_H_
#define SLUICE_EXECUTOR_EXECUTOR_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "graph/base/strong_id.h"
#include "graph/value/allocator.h"
#include "kernels/run_context.h"

struct SluiceGemmPlugin;  // kernels/linalg/gemm_plugin.h

namespace sluice {

class NodeObserver;
class StepStatsCollector;

// Hands a piece of work to some thread: how a host controls where an executor runs. Called from any thread, and may run
// the work before it returns. A piece that it drops instead ends its run with kRunCancelled.
using Runner = absl::AnyInvocable<void(absl::AnyInvocable<void()>) const>;

// Note [Threads of a run]
// Who calls what, and until when, for hosts:
// - RunAsync works on the calling thread until nothing more can be done without waiting, so that `done` may be called
//   before it returns. With a `runner` it works there instead.
// - `done` is called on the thread that has done the last piece of work: the caller of RunAsync, a thread of
//   `task_runner` or `runner`, one that ended an asynchronous kernel (by a Send into the rendezvous, say), one that
//   cancelled, or, for a run without threads whose deadline has passed, a service thread. Never the one thread that
//   watches the deadlines of the process.
// - `done` is not called from inside a kernel of any run, with one exception: where a kernel itself calls RunAsync, the
//   run that it starts may be over before that call returns. It may block, start runs (chains of them do not grow the
//   stack), and free the manager, the rendezvous, the call frame and everything else that the run was given, also where
//   it is called from inside of a StartCancel or StartAbort of the host's. What it throws is logged.
// - A thread that sets another run free inside of a kernel continues it when it has left that kernel's run, or hands it
//   to the other run's threads. A kernel must not wait for another run, but by Executor::Run (or a Session), which
//   works meanwhile.
// - After `done` was called, closures of the run may still lie in `task_runner` or `runner`. They touch nothing that
// the
//   host has given to the run.

// Runs one graph on one device, any number of times at once. Made by NewLocalExecutor (local_executor.h).
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

  // What one run may use. Every pointer may be null: a node that needs it then fails (kFacilityMissing). All of it is
  // borrowed and must live until `done` was called; see Note [Threads of a run].
  struct Args {
    StepId step_id;  // Unique in the process; the same for all executors of one step.
    // The first error of the run aborts the rendezvous and cancels the manager with it, so that nothing waits in vain:
    // the executors of one step share them, steps do not.
    Rendezvous* rendezvous = nullptr;
    StepStatsCollector* stats_collector = nullptr;
    NodeObserver* observer = nullptr;  // Hears of every kernel call, instead of stats_collector.
    CallFrame* call_frame = nullptr;
    CancellationManager* cancellation_manager = nullptr;  // See rendezvous.
    SessionState* session_state = nullptr;
    TensorStore* tensor_store = nullptr;
    StepContainer* step_container = nullptr;
    // Threads for nodes and for work inside kernels. Null, and no runner: everything runs on the thread that calls
    // RunAsync, and on those that complete asynchronous kernels.
    TaskRunner* task_runner = nullptr;
    // Where the run begins and continues instead of on the calling thread, when it is set. Alone, it also gives the
    // threads for nodes and for work inside kernels, as a RunnerAdapter (runner_adapter.h) of as many threads as there
    // are processors would; a host that wants another number sets task_runner to an adapter of its own.
    const Runner* runner = nullptr;
    Allocator* allocator = nullptr;  // For outputs; the device's when null.
    // By the wall clock. A run whose deadline has passed before it was over ends with kDeadline, though its last kernel
    // may have succeeded.
    absl::Time deadline = absl::InfiniteFuture();
    bool sync_on_finish = false;  // Wait for the device's queued work before `done`.
    // One thread at a time, also inside kernels: task_runner is not used.
    bool run_all_kernels_inline = false;
    bool deterministic = false;                     // The same bits whatever the number of threads.
    const SluiceGemmPlugin* gemm_plugin = nullptr;  // As in RunContext.
  };

  virtual ~Executor() = default;

  // Runs the graph and calls `done` once with the first error, or OK, after all work of the run has stopped. A graph
  // without nodes is done at once. Throws nothing: without memory to begin, `done` gets kOutOfMemory.
  virtual void RunAsync(const Args& args, Done done) const = 0;
  // Runs the graph and returns the first error, or OK, after all work of the run has stopped. May be called from inside
  // a kernel. The calling thread of a local executor works meanwhile; by default, it waits for RunAsync.
  virtual absl::Status Run(const Args& args) const;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_EXECUTOR_H_
