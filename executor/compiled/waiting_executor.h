#ifndef SLUICE_EXECUTOR_COMPILED_WAITING_EXECUTOR_H_
#define SLUICE_EXECUTOR_COMPILED_WAITING_EXECUTOR_H_

#include <memory>

#include "absl/base/optimization.h"
#include "executor/compiled/compiled_graph.h"
#include "executor/compiled/lazy_dataflow.h"
#include "executor/serial/port_calls.h"
#include "executor/serial/wait_choice.h"
#include "executor/serial/waiting_run.h"
#include "executor/executor.h"
#include "executor/serial/serial_run.h"

namespace sluice {

// Runs a graph that waits segment by segment (Note [Segments] in executor/serial/segment_plan.h), on one thread at a
// time. A step that waits holds no thread, and what it keeps is as large as what is alive at its waits, not as its
// graph. Where Driver::kAuto lets it choose, runs whose observer is to hear of ports go by the dataflow driver as those
// of ChoosingExecutor do, and runs with several threads where they would gain: several kernels take long by their own
// hints, or by what WaitChoice measures, observed or not. Immutable, but for what it has measured, memory kept between
// runs and that executor; thread-safe.
class WaitingExecutor final : public Executor {
 public:
  // REQUIRES: compiled->waiting_program() != nullptr.
  explicit WaitingExecutor(std::shared_ptr<const CompiledGraph> compiled);

  void RunAsync(const Args& args, Done done) const override;
  absl::Status Run(const Args& args) const override;

 private:
  bool MustBeDataflow(const Args& args) const {
    return ABSL_PREDICT_FALSE(args.observer != nullptr) && may_choose_ && compiled_->observes_ports();
  }
  WaitChoice::Decision Decide(const Args& args) const;
  // For runs with that decision: the dataflow driver, or null.
  const Executor* Dataflow(const WaitChoice::Decision& decision, const Args& args) const {
    return decision.use_dataflow ? dataflow_.Find(args) : nullptr;
  }
  const std::shared_ptr<const CompiledGraph> compiled_;
  const SerialProgram& program_;
  const PortCalls ports_;
  const bool may_choose_;
  const bool is_for_threads_;  // Runs with several threads have work for them.
  // These change no result, and guard themselves.
  mutable RegisterPool registers_;
  const WaitingPlan plan_;  // Of all that.
  mutable WaitChoice choice_;
  mutable LazyDataflow dataflow_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_WAITING_EXECUTOR_H_
