#ifndef SLUICE_EXECUTOR_SESSION_PARTITIONED_STEP_H_
#define SLUICE_EXECUTOR_SESSION_PARTITIONED_STEP_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/executor.h"
#include "executor/plan/call_store.h"
#include "executor/session/session_core.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/graph.h"
#include "rendezvous/key.h"

namespace sluice {

// One signature's graph, cut by devices, with an executor for each part. The parts of a run meet in the rendezvous of
// its Args, which is required; the first error of any part ends all of them. A graph on one device is one part.
// Immutable; any number of threads may run it at once. Keeps the core alive.
class PartitionedStep final : public Executor {
 public:
  // Cuts `whole` where `is_cut`. `edges` number its transfers, and outlive this; `call_store` and `functions`, which
  // may be null (see KernelSet), are used here alone; `stop` is polled and may be null. kPartition and what kernels and
  // control flow say.
  static absl::StatusOr<std::unique_ptr<const PartitionedStep>> Create(std::shared_ptr<SessionCore> core,
                                                                       const Graph& whole, bool is_cut,
                                                                       EdgeTable& edges, const CallStore& call_store,
                                                                       FunctionFinder* functions,
                                                                       StopPoll* stop = nullptr);

  // Starts all parts. The allocator of `args` is not used: each device has its own. The caller's thread works on the
  // last part, or on all of them without a task runner of several threads, until it would have to wait. `done` gets the
  // cause of the first error.
  void RunAsync(const Args& args, Done done) const override;
  // The calling thread works on all parts meanwhile.
  absl::Status Run(const Args& args) const override;

  size_t num_parts() const { return parts_.size(); }

 private:
  // The part of one device.
  struct Part {
    std::unique_ptr<const Executor> executor;
    std::vector<NodeId> whole_ids;  // By its nodes: ids in the whole graph; invalid for nodes that the cut added.
  };

  explicit PartitionedStep(std::shared_ptr<SessionCore> core) : core_(std::move(core)) {}

  struct Running;

  absl::Status AddPart(const Graph& whole, Graph graph, Device& device, EdgeTable& edges, const CallStore& call_store,
                       FunctionFinder* functions, StopPoll* stop);
  static void StartParts(const Args& args, std::unique_ptr<Running> running);

  const std::shared_ptr<SessionCore> core_;
  std::vector<Part> parts_;  // Immutable after Create.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_PARTITIONED_STEP_H_
