#ifndef SLUICE_EXECUTOR_SESSION_CALLABLE_H_
#define SLUICE_EXECUTOR_SESSION_CALLABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/compiled/compiled_graph.h"
#include "executor/executor.h"
#include "executor/session/call_options.h"
#include "executor/session/rendezvous_pool.h"
#include "executor/session/session_core.h"
#include "executor/session/session_graph.h"
#include "executor/session/step_graph.h"
#include "graph/base/stop_poll.h"
#include "graph/passes/feed_fetch.h"

namespace sluice {

// One signature of a session (feeds, fetches, targets), compiled: takes and gives tensors by position.
//
//   SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const Callable> f, session->Prepare({{"x"}, {"y"}}));
//   Tensor in[] = {x}, out[1];
//   SLUICE_RETURN_IF_ERROR(f->Run(in, absl::MakeSpan(out)));
//
// Immutable; any number of threads may call it at once. Small graphs run on the calling thread without a lock and
// without an allocation of ours. Keeps what it needs of its session alive.
class Callable : public std::enable_shared_from_this<Callable> {
 public:
  using Done = Executor::Done;

  static absl::StatusOr<std::shared_ptr<const Callable>> Create(std::shared_ptr<SessionCore> core,
                                                                const SessionGraph& graph, const FeedFetchSpec& spec,
                                                                const PrepareOptions& options = {});
  Callable(const Callable&) = delete;
  Callable& operator=(const Callable&) = delete;

  absl::Span<const FeedFetchGraph::Port> feeds() const { return feeds_; }
  absl::Span<const FeedFetchGraph::Port> fetches() const { return fetches_; }

  // One step. `inputs` in the order of feeds() are given up: kernels may overwrite them. `outputs` has one place per
  // fetch. A call without a deadline gets the session's operation_timeout.
  // Errors: kFeedType, kFeedShape, kTensorHandle, kWrongUse (counts, options), kSessionClosed, kFetchDead,
  // kDeadline, kStalled, the status of options.cancellation, and those of nodes. When it returns, all work of the step
  // has stopped.
  absl::Status Run(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const CallOptions& options = {}) const;

  // The same without waiting: a step whose nodes wait (for a value from elsewhere, say) holds no thread. Works on the
  // calling thread as Executor::RunAsync does, and calls `done` once, with what Run would return, perhaps before it
  // returns: see Note [Threads of a run] in executor.h. Throws nothing.
  // Until `done` is called, the step uses the tensors that `inputs` and `outputs` refer to (not the spans themselves),
  // and what `options` names; `outputs` have their values when it is called. The callable lives by itself until then,
  // and so does what it needs of the session, which may go meanwhile: that ends the step. `done` may free all of it.
  void RunAsync(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const CallOptions& options,
                Done done) const noexcept;

  // The graph that runs, for reports; null program: it is not run serially.
  const Graph& graph() const { return *graph_; }
  const SerialProgram* program() const { return compiled_ != nullptr ? compiled_->program() : nullptr; }
  // The kernels with state in functions that this signature calls, which no other one uses (Note [State of calls] in
  // graph/functions/call_states.h).
  const PlanScope& call_scope() const { return *call_scope_; }

 private:
  struct Facilities;
  struct Step;
  struct AsyncStep;

  // Moves the parts that it keeps out of `step`.
  Callable(std::shared_ptr<SessionCore> core, StepGraph* step);

  // Without the better reasons for errors that Create gives.
  static absl::StatusOr<std::shared_ptr<Callable>> Make(const std::shared_ptr<SessionCore>& core,
                                                        const SessionGraph& graph, const FeedFetchSpec& spec,
                                                        CallPolicy policy, StopPoll* stop);
  // Whether to make it again with all calls inlined: calls are late, or only segments without calls could run it.
  static bool MustInline(const absl::StatusOr<std::shared_ptr<Callable>>& made);
  absl::Status Compile(const StepGraph& step, StopPoll* stop);
  // Whether some call waits for a slow kernel although an inlined body could begin earlier (Note [Called or inlined]).
  bool HasLateCalls() const;
  void FindNeeds();
  // Whether the call may begin, and on which threads.
  absl::StatusOr<ThreadPool*> BeginCall(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs,
                                        const CallOptions& options) const;
  absl::Status CheckCall(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs) const;
  // Makes the executor's arguments, without the step's own facilities.
  Executor::Args ArgsOf(const CallOptions& options, ThreadPool* pool) const;
  // Runs one step on this thread, with ArgsOf's `args`.
  absl::Status RunHere(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const CallOptions& options,
                       Executor::Args* args) const;
  absl::Status FinishFetches(absl::Span<Tensor> outputs) const;

  // Immutable after Create.
  const std::shared_ptr<SessionCore> core_;
  const std::vector<FeedFetchGraph::Port> feeds_, fetches_;
  const std::shared_ptr<const Graph> graph_;
  const std::unique_ptr<EdgeTable> edges_;  // Of the graph's transfers.
  // Of the graph's calls, those that were inlined included, and of functions that kernels call.
  const std::shared_ptr<const PlanScope> call_scope_;
  const BodyStore::Calls calls_;                   // Of the graph's calls.
  std::shared_ptr<const CompiledGraph> compiled_;  // Null: the executor is a host's, or has several.
  std::unique_ptr<const Executor> executor_;
  bool keeps_tensors_ = false;     // Some node makes session handles.
  bool has_references_ = false;    // Some node refers to a variable.
  bool needs_rendezvous_ = false;  // Some node sends or receives.
  bool is_hosts_ = false;          // The executor is of a kind of the host's, and runs all of the step.
  bool needs_facilities_ = false;  // It keeps tensors, needs a rendezvous, is_hosts_, or its session watches all runs.
  std::vector<std::string> fetched_nodes_;

  mutable RendezvousPool rendezvous_;  // Guards itself.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_CALLABLE_H_
