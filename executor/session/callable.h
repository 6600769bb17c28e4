#ifndef SLUICE_EXECUTOR_SESSION_CALLABLE_H_
#define SLUICE_EXECUTOR_SESSION_CALLABLE_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "executor/compiled/driver_choice.h"
#include "executor/executor.h"
#include "executor/kernel_set.h"
#include "executor/serial/serial_program.h"
#include "executor/serial/serial_run.h"
#include "executor/session/call_options.h"
#include "executor/session/partitioned_step.h"
#include "executor/session/rendezvous_pool.h"
#include "executor/session/session_core.h"
#include "executor/session/step_graph.h"
#include "graph/base/mutex.h"
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
class Callable {
 public:
  static absl::StatusOr<std::shared_ptr<const Callable>> Create(std::shared_ptr<SessionCore> core, const Graph& graph,
                                                                const FeedFetchSpec& spec,
                                                                const PrepareOptions& options = {});
  Callable(const Callable&) = delete;
  Callable& operator=(const Callable&) = delete;

  absl::Span<const FeedFetchGraph::Port> feeds() const { return step_.signature.feeds; }
  absl::Span<const FeedFetchGraph::Port> fetches() const { return step_.signature.fetches; }

  // One step. `inputs` in the order of feeds() are given up: kernels may overwrite them. `outputs` has one place per
  // fetch. Errors: kFeedType, kFeedShape, kWrongUse (counts), kSessionClosed, kFetchDead, kDeadline, and those of
  // nodes. When it returns, all work of the step has stopped.
  absl::Status Run(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const CallOptions& options = {}) const;

  // The graph that runs, for reports; null program: it is not run serially.
  const Graph& graph() const { return step_.signature.graph; }
  const SerialProgram* program() const { return program_.get(); }

 private:
  explicit Callable(std::shared_ptr<SessionCore> core) : core_(std::move(core)) {}

  absl::Status Compile(StopPoll* stop);
  // Run, which turns what it throws into a status.
  absl::Status RunOrThrow(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const CallOptions& options) const;
  absl::Status CompileSerial(std::string* why_not, StopPoll* stop);
  absl::Status CompileDataflow(StopPoll* stop) const;
  // Whether the other driver's executor is there, which the first run that wants it makes. No run waits for it: false
  // while another thread makes it, and where the deadline or the cancellation of this run comes first.
  bool HasDataflow(const RunContext& run, const CallOptions& options) const ABSL_LOCKS_EXCLUDED(dataflow_mu_);
  // Steps that need more than the others: tensors kept under handles, a rendezvous, a watch.
  absl::Status RunWithStepFacilities(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, RunContext& run,
                                     const CallOptions& options) const;
  absl::Status RunStep(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, RunContext& run,
                       const CallOptions& options) const;
  absl::Status RunDataflow(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, RunContext& run,
                           const CallOptions& options) const;
  absl::Status CheckCall(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs) const;
  absl::Status RunSerial(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const RunContext& run,
                         const CallOptions& options) const;
  // With kernels that may ask whether they should stop: at the deadline they are told.
  absl::Status RunSerialUntil(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const RunContext& run,
                              const CallOptions& options) const;
  absl::Status RunProgram(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const RunContext& run,
                          const CallOptions& options) const;
  absl::Status FinishFetches(absl::Span<Tensor> outputs) const;

  // Immutable after Create.
  const std::shared_ptr<SessionCore> core_;
  StepGraph step_;
  std::unique_ptr<const KernelSet> kernels_;  // Of both drivers. Null: each part, or a host's executor, has its own.
  std::unique_ptr<const PartitionedStep> parts_;  // Of a step that is cut; then there is nothing else.
  std::unique_ptr<const SerialProgram> program_;  // Null: the graph is none, or is not to be run as one.
  bool has_choice_ = false;                       // Both drivers may be used.
  bool keeps_tensors_ = false;                    // Some node makes session handles.
  bool has_references_ = false;                   // Some node refers to a variable.
  bool needs_rendezvous_ = false;                 // Some node sends or receives.
  bool may_take_long_ = false;                    // Some kernel of a host's in the program.
  bool needs_facilities_ = false;                 // See RunWithStepFacilities; a call may ask for it too.
  std::vector<std::string> fetched_nodes_;

  // Side tables that change no result; they guard themselves.
  std::unique_ptr<RegisterPool> registers_;
  std::unique_ptr<RendezvousPool> rendezvous_;
  mutable DriverChoice choice_;
  mutable Mutex dataflow_mu_;
  mutable std::atomic<bool> has_asked_dataflow_{false};  // Release: dataflow_ is written before.
  // Made at Create without a program, else when it is first wanted.
  mutable std::unique_ptr<const Executor> dataflow_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_CALLABLE_H_
