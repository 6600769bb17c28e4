#ifndef SLUICE_EXECUTOR_SESSION_PARTITIONED_STEP_H_
#define SLUICE_EXECUTOR_SESSION_PARTITIONED_STEP_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/executor.h"
#include "executor/session/call_options.h"
#include "executor/session/session_core.h"
#include "executor/session/step_graph.h"
#include "kernels/run_context.h"

namespace sluice {

// One signature's graph, cut by devices, with an executor for each part. The parts of a run meet in a rendezvous of the
// run's own; the first error of any part ends all of them. A graph on one device is one part.
// Immutable; any number of threads may run it at once. Keeps the core alive.
class PartitionedStep {
 public:
  // `step` has the table of edges for its runs, and outlives them. `stop` is polled; it may be null. kPartition and
  // what kernels and control flow say.
  static absl::StatusOr<std::unique_ptr<const PartitionedStep>> Create(std::shared_ptr<SessionCore> core,
                                                                       const StepGraph& step, StopPoll* stop = nullptr);

  // Starts all parts on what `args` names: a rendezvous and a cancellation manager of the step's own (required) among
  // them; its allocator is left to the devices. The caller's thread works on the last part, and on all of them where
  // there is no task runner with several threads, until nothing more can be done without waiting. `done` gets the cause
  // of the first error, once, after all parts have stopped, perhaps before this returns. Throws nothing.
  void Start(const Executor::Args& args, Executor::Done done) const;

  // One step by the function convention: takes `inputs` (given up), fills `outputs`, and returns when all work has
  // stopped; the calling thread works meanwhile. `run` says what the step uses: a rendezvous of the step's own among
  // it; its cancellation may be null. kDeadline, CANCELLED, and errors of nodes.
  absl::Status Run(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const RunContext& run,
                   const CallOptions& options) const;

  size_t num_parts() const { return parts_.size(); }

 private:
  // What one device runs.
  struct Part {
    std::unique_ptr<const Executor> executor;
    std::vector<NodeId> whole_ids;  // Of its nodes in the whole graph; invalid for those that the cut added.
  };

  explicit PartitionedStep(std::shared_ptr<SessionCore> core) : core_(std::move(core)) {}

  struct Running;
  class EndOfParts;

  absl::Status AddPart(Graph graph, Device& device, const StepGraph& step, StopPoll* stop);
  static void StartParts(const Executor::Args& args, std::unique_ptr<Running> running);

  const std::shared_ptr<SessionCore> core_;
  std::vector<Part> parts_;  // Immutable after Create.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_PARTITIONED_STEP_H_
