#ifndef SLUICE_EXECUTOR_COMPILED_WAITING_EXECUTOR_H_
#define SLUICE_EXECUTOR_COMPILED_WAITING_EXECUTOR_H_

#include <memory>
#include <utility>

#include "executor/compiled/compiled_graph.h"
#include "executor/executor.h"
#include "executor/serial/port_calls.h"
#include "executor/serial/serial_run.h"
#include "executor/serial/waiting_run.h"

namespace sluice {

// Runs a graph that waits segment by segment (Note [Segments] in executor/serial/segment_plan.h), on one thread at a
// time. A step that waits holds no thread, and only the values that are alive at its waits, whatever the size of its
// graph. Immutable except for memory kept between runs; thread-safe.
class WaitingExecutor final : public Executor {
 public:
  // REQUIRES: compiled->waiting_program() != nullptr.
  explicit WaitingExecutor(std::shared_ptr<const CompiledGraph> compiled)
      : compiled_(std::move(compiled)),
        program_(*compiled_->waiting_program()),
        ports_(program_, compiled_->kernels()),
        registers_(program_.num_registers()),
        plan_{program_, ports_, registers_, compiled_->device()} {}

  void RunAsync(const Args& args, Done done) const override { WaitingRun::RunAsync(plan_, args, std::move(done)); }
  absl::Status Run(const Args& args) const override { return WaitingRun::Run(plan_, args); }

 private:
  const std::shared_ptr<const CompiledGraph> compiled_;
  const SerialProgram& program_;
  const PortCalls ports_;
  mutable RegisterPool registers_;  // Changes no result, and guards itself.
  const WaitingPlan plan_;          // Of all that.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_WAITING_EXECUTOR_H_
