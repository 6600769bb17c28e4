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

// Hands a piece of work to some thread: how a host controls where an executor runs. Called from any thread.
using Runner = absl::AnyInvocable<void(absl::AnyInvocable<void()>) const>;

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
  // borrowed and must live until `done` was called; manager and rendezvous also until a StartCancel of the host's has
  // returned, since `done` may be called from inside it.
  struct Args {
    StepId step_id;  // Unique in the process; the same for all executors of one step.
    Rendezvous* rendezvous = nullptr;
    StepStatsCollector* stats_collector = nullptr;
    NodeObserver* observer = nullptr;  // Told of every kernel call, instead of stats_collector.
    CallFrame* call_frame = nullptr;
    CancellationManager* cancellation_manager = nullptr;
    SessionState* session_state = nullptr;
    TensorStore* tensor_store = nullptr;
    StepContainer* step_container = nullptr;
    // Threads for nodes and for work inside kernels. Null: everything runs on the thread that calls RunAsync, and on
    // those that complete asynchronous kernels.
    TaskRunner* task_runner = nullptr;
    // Where nodes run instead of on the calling thread, when it is set.
    const Runner* runner = nullptr;
    Allocator* allocator = nullptr;  // For outputs; the device's when null.
    absl::Time deadline = absl::InfiniteFuture();
    bool sync_on_finish = false;                    // Wait for the device's queued work before `done`.
    bool run_all_kernels_inline = false;            // One thread at a time, never a hand-over.
    bool deterministic = false;                     // The same bits whatever the number of threads.
    const SluiceGemmPlugin* gemm_plugin = nullptr;  // As in RunContext.
  };

  virtual ~Executor() = default;

  // Runs the graph and calls `done` once with the first error, or OK, after all work of the run has stopped. Never from
  // inside a kernel. A graph without nodes is done at once.
  virtual void RunAsync(const Args& args, Done done) const = 0;
  // The same, and waits. The calling thread works while it waits.
  virtual absl::Status Run(const Args& args) const = 0;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_EXECUTOR_H_
