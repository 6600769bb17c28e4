#ifndef SLUICE_EXECUTOR_DATAFLOW_EXECUTOR_STATE_H_
#define SLUICE_EXECUTOR_DATAFLOW_EXECUTOR_STATE_H_

#include <cstdint>
#include <memory>

#include "executor/async_call.h"
#include "executor/dataflow/executor_plan.h"
#include "executor/dataflow/node_cost.h"
#include "executor/dataflow/node_runner.h"
#include "executor/dataflow/propagator_pool.h"
#include "executor/dataflow/stream_run.h"
#include "executor/executor.h"
#include "executor/node_calls.h"
#include "executor/run_setup.h"
#include "executor/scheduler.h"
#include "frames/flat_propagator.h"
#include "frames/framed_propagator.h"

namespace sluice {

// One run of a graph: takes ready nodes, runs them here or on other threads, and propagates their outputs. Lives for
// one run and is destroyed before Done is called. Works under the baton (Note [Baton] in scheduler.h), apart from
// RunCall and EndAsync. The verbs of TensorFlow's executor and where they are:
//   RunAsync, ScheduleReady, Process, PrepareInputs/ProcessOutputs (NodeRunner), PropagateOutputs, ActivateNodes,
//   FindOrCreateChildFrame, DeleteFrame, CleanupFramesIterations (the propagators), NodeDone, Finish.
// Owns itself; its threads are the Scheduler's. No exception leaves it: a kernel's becomes an error of its node; one
// thrown between nodes (out of memory) becomes the error of the run, whose propagator is then discarded.
template <typename Propagator>
class ExecutorState final : public Scheduler::Client, private AsyncCallOwner {
 public:
  // Runs `plan`; borrows it and what `args` points to until `done` is called.
  static void RunAsync(const ExecutorPlan& plan, PropagatorPool<Propagator>& pool, const Executor::Args& args,
                       Executor::Done done) noexcept;
  // The same, and returns the outcome.
  static absl::Status Run(const ExecutorPlan& plan, PropagatorPool<Propagator>& pool,
                          const Executor::Args& args) noexcept;

  // `own`: see RunSetup.
  ExecutorState(const ExecutorPlan& plan, PropagatorPool<Propagator>& pool, const Executor::Args& args,
                CancellationManager* own)
      : ExecutorState(plan, pool, args, own, pool.Take()) {}

  Scheduler::Progress RunWithBaton() noexcept override;
  bool RunCall(NodeCall& queued) noexcept override;
  void Finish() noexcept override;

 private:
  ExecutorState(const ExecutorPlan& plan, PropagatorPool<Propagator>& pool, const Executor::Args& args,
                CancellationManager* own, typename PropagatorPool<Propagator>::Kept kept);

  // Puts the first nodes into the ready queue.
  void Begin() noexcept;
  // Runs what is ready until nothing is, the run must stop, or the turn of this thread is over.
  void Process() noexcept;
  void ProcessNode(const TaggedNode& node);
  // Called when nothing is under way on the host. Ends the run with an error of the devices, if any, and, if the run
  // must wait for them, begins that wait like a call. Returns true if there is something to wait for.
  bool AwaitStreams() noexcept;
  // Propagates the outputs of calls that have ended.
  void DrainInbox() noexcept;
  // Ends the run with the exception being handled, thrown at `item` (null: unknown), which may have left the propagator
  // inconsistent.
  void FailBetweenNodes(const NodeItem* item) noexcept;
  // Runs the kernel of `node` here, or queues or starts it.
  void ScheduleReady(const TaggedNode& node);
  void RunInline(const TaggedNode& node);
  // Queues the call for other threads, or starts it asynchronously.
  void Dispatch(const TaggedNode& node, uint32_t cost_ns, uint32_t input_bytes);
  void StartAsync(ItemCall& call) noexcept;
  void EndAsync(NodeCall& ended, const absl::Status& status) noexcept override;
  // Handles the outcome of `node`, which has run.
  void NodeDone(const TaggedNode& node, const absl::Status& status, bool all_live);
  // Checks the deadline, the inbox and the queue; called every few hundred cheap nodes.
  void CheckNow() noexcept;
  // How many bytes the inputs of `item` hold, as far as they are known before its kernel is called.
  static uint32_t InputBytes(const NodeItem& item, KernelContext& context);
  // How long the kernel of `item` may take with `input_bytes` bytes of inputs.
  static uint32_t ExpectedNs(const NodeItem& item, const NodeCost& measured, uint32_t input_bytes);
  void Measured(const NodeItem& item, int64_t ns, uint32_t input_bytes);
  void SetPlace(const TaggedNode& node, KernelContext& context);
  // Returns reusable memory to the pool.
  void KeepMemory(bool is_ok) noexcept;

  const ExecutorPlan& plan_;
  PropagatorPool<Propagator>& pool_;
  RunSetup setup_;
  const Executor::Args& args_;  // As the run uses them.
  std::unique_ptr<Propagator> propagator_;
  NodeCalls calls_;  // The baton holder's.
  NodeRunner runner_;
  const CountedPtr<Scheduler> scheduler_;
  Executor::Done done_;                       // Null in Run.
  std::unique_ptr<ExecutorState> self_;       // Until Finish.
  const std::unique_ptr<StreamRun> streams_;  // Null: no device works on its own.
  const bool has_helpers_;
  bool is_broken_ = false;  // An exception has left the propagator inconsistent.
  bool is_turn_over_ = false;

  // The baton holder's.
  KernelContext context_;
  CallSpace space_;
  TaggedNode current_;      // The node that Process is at, for exceptions.
  uint32_t num_calls_ = 0;  // Under way: queued, running elsewhere, or asynchronous.
  uint32_t num_cheap_ = 0;
  uint32_t until_check_ = 0;  // In cheap nodes.
  int64_t spent_ns_ = 0;      // Of this thread's turn, in expensive kernels that were run inline.
};

extern template class ExecutorState<FlatPropagator>;
extern template class ExecutorState<FramedPropagator>;

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_DATAFLOW_EXECUTOR_STATE_H_
