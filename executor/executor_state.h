#ifndef SLUICE_EXECUTOR_EXECUTOR_STATE_H_
#define SLUICE_EXECUTOR_EXECUTOR_STATE_H_

#include <cstdint>
#include <memory>

#include "executor/executor.h"
#include "executor/executor_plan.h"
#include "executor/node_calls.h"
#include "executor/node_runner.h"
#include "executor/propagator_pool.h"
#include "executor/scheduler.h"
#include "frames/flat_propagator.h"
#include "frames/framed_propagator.h"

namespace sluice {

// One run of a graph: takes nodes that are ready, runs them or has others run them, and propagates what they made.
// Made for a run and gone with it, before Done is called. Works under the baton (Note [Baton] in scheduler.h), apart
// from Execute. The verbs of TensorFlow's executor and where they are:
//   RunAsync, ScheduleReady, Process, PrepareInputs/ProcessOutputs (NodeRunner), PropagateOutputs, ActivateNodes,
//   FindOrCreateChildFrame, DeleteFrame, CleanupFramesIterations (the propagators), NodeDone, Finish.
// Owns itself; its threads are the Scheduler's.
template <typename Propagator>
class ExecutorState final : public Scheduler::Client {
 public:
  // Runs `plan`; borrows it and what `args` points to until `done` is called.
  static void RunAsync(const ExecutorPlan& plan, PropagatorPool<Propagator>& pool, const Executor::Args& args,
                       Executor::Done done);
  // The same, and returns the outcome.
  static absl::Status Run(const ExecutorPlan& plan, PropagatorPool<Propagator>& pool, const Executor::Args& args);

  ExecutorState(const ExecutorPlan& plan, PropagatorPool<Propagator>& pool, const Executor::Args& args)
      : ExecutorState(plan, pool, args, pool.Take()) {}

  bool Propagate() override;
  bool Execute(NodeCall& call) override;
  void Finish() override;

 private:
  ExecutorState(const ExecutorPlan& plan, PropagatorPool<Propagator>& pool, const Executor::Args& args,
                typename PropagatorPool<Propagator>::Kept kept);

  // Runs what is ready until nothing is, or the run must stop.
  void Process();
  void ProcessNode(const TaggedNode& node);
  // Calls that have ended: their outputs are propagated.
  void DrainInbox();
  // Runs the kernel of `node`, here or elsewhere.
  void ScheduleReady(const TaggedNode& node);
  void RunInline(const TaggedNode& node);
  // Runs it elsewhere, or asynchronously.
  void Dispatch(const TaggedNode& node, uint32_t cost_ns);
  void StartAsync(NodeCall& call);
  // The callback of an asynchronous kernel.
  class AsyncEnd;
  void EndAsync(NodeCall& call, const absl::Status& status);
  // `node` has run with this outcome.
  void NodeDone(const TaggedNode& node, const absl::Status& status, bool all_live);
  // Looks at the clock, at ended calls and at the queue every few hundred cheap nodes.
  void CheckNow();
  // How long the kernel of `item`, never measured so far, may take with these inputs.
  uint32_t GuessNs(const NodeItem& item, KernelContext& context) const;
  void Measured(const NodeItem& item, int64_t ns);
  void SetPlace(const TaggedNode& node, KernelContext& context);

  const ExecutorPlan& plan_;
  PropagatorPool<Propagator>& pool_;
  const bool sync_on_finish_;
  RunContext run_;
  std::unique_ptr<Propagator> propagator_;
  NodeCalls calls_;  // The baton holder's.
  NodeRunner runner_;
  const CountedPtr<Scheduler> scheduler_;
  Executor::Done done_;                  // Null in Run.
  std::unique_ptr<ExecutorState> self_;  // Until Finish.
  const bool has_helpers_;

  // The baton holder's.
  KernelContext context_;
  CallSpace space_;
  TaggedNode current_;      // What Process is at, for exceptions.
  uint32_t num_calls_ = 0;  // Under way: queued, running elsewhere, or asynchronous.
  uint32_t num_cheap_ = 0;
  uint32_t until_check_ = 0;  // In cheap nodes.
};

extern template class ExecutorState<FlatPropagator>;
extern template class ExecutorState<FramedPropagator>;

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_EXECUTOR_STATE_H_
