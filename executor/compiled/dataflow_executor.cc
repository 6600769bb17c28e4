#include "executor/compiled/dataflow_executor.h"

#include <utility>

#include "executor/dataflow/executor_state.h"
#include "executor/dataflow/propagator_pool.h"
#include "frames/flat_propagator.h"
#include "frames/framed_propagator.h"
#include "graph/base/status_macros.h"
#include "rendezvous/frame_hash.h"

namespace sluice {
namespace {

// See dataflow_executor.h. `Propagator` as the graph needs.
template <typename Propagator>
class DataflowExecutor final : public Executor {
 public:
  DataflowExecutor(std::shared_ptr<const CompiledGraph> compiled, const ExecutorPlan& plan)
      : compiled_(std::move(compiled)), plan_(plan), pool_(*plan.view, &ChildFrameNumber) {}

  void RunAsync(const Args& args, Done done) const override {
    ExecutorState<Propagator>::RunAsync(plan_, pool_, args, std::move(done));
  }
  absl::Status Run(const Args& args) const override { return ExecutorState<Propagator>::Run(plan_, pool_, args); }

 private:
  const std::shared_ptr<const CompiledGraph> compiled_;
  const ExecutorPlan& plan_;                 // Of compiled_.
  mutable PropagatorPool<Propagator> pool_;  // Memory kept between runs; changes no result.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executor>> NewDataflowExecutor(std::shared_ptr<const CompiledGraph> compiled,
                                                              StopPoll* stop) {
  SLUICE_ASSIGN_OR_RETURN(const ExecutorPlan* const plan, compiled->MakeDataflowPlan(stop));
  if (plan->view->has_frames()) {
    return std::make_unique<DataflowExecutor<FramedPropagator>>(std::move(compiled), *plan);
  }
  return std::make_unique<DataflowExecutor<FlatPropagator>>(std::move(compiled), *plan);
}

}  // namespace sluice
