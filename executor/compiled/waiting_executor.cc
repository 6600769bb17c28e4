#include "executor/compiled/waiting_executor.h"

#include <utility>

#include "absl/status/statusor.h"
#include "executor/run_setup.h"

namespace sluice {

namespace {

// Whether several kernels take long, one of them certainly.
bool HasWorkForThreads(const SerialProgram& program) {
  int num_heavy = 0, num_not_cheap = 0;
  for (const SerialInstruction& instruction : program.instructions()) {
    if (instruction.action != SerialAction::kCompute) continue;
    num_heavy += instruction.cost_hint == CostHint::kHeavy ? 1 : 0;
    num_not_cheap += instruction.cost_hint != CostHint::kCheap ? 1 : 0;
  }
  return num_heavy > 0 && num_not_cheap > 1;
}

}  // namespace

WaitingExecutor::WaitingExecutor(std::shared_ptr<const CompiledGraph> compiled)
    : compiled_(std::move(compiled)),
      program_(*compiled_->waiting_program()),
      ports_(program_, compiled_->kernels()),
      may_choose_(compiled_->driver() == Driver::kAuto),
      is_for_threads_(HasWorkForThreads(program_)),
      registers_(program_.num_registers()),
      plan_{program_, ports_, registers_, compiled_->device()},
      dataflow_(compiled_) {}

WaitChoice::Decision WaitingExecutor::Decide(const Args& args) const {
  WaitChoice::Decision decision;
  if (!may_choose_ || !RunSetup::HasSeveralThreads(args)) return decision;
  decision.use_dataflow = is_for_threads_;
  return is_for_threads_ ? decision : choice_.Next();
}

void WaitingExecutor::RunAsync(const Args& args, Done done) const {
  if (MustBeDataflow(args)) {
    const absl::StatusOr<const Executor*> dataflow = dataflow_.Make(args);
    if (!dataflow.ok()) return EndAtOnce(std::move(done), FailRun(args, dataflow.status()));
    return (*dataflow)->RunAsync(args, std::move(done));
  }
  const WaitChoice::Decision decision = Decide(args);
  const Executor* const dataflow = Dataflow(decision, args);
  if (dataflow != nullptr) return dataflow->RunAsync(args, std::move(done));
  WaitingRun::RunAsync(plan_, args, decision.is_measured ? &choice_ : nullptr, decision, std::move(done));
}

absl::Status WaitingExecutor::Run(const Args& args) const {
  if (MustBeDataflow(args)) {
    const absl::StatusOr<const Executor*> dataflow = dataflow_.Make(args);
    return dataflow.ok() ? (*dataflow)->Run(args) : FailRun(args, dataflow.status());
  }
  const WaitChoice::Decision decision = Decide(args);
  const Executor* const dataflow = Dataflow(decision, args);
  if (dataflow != nullptr) return dataflow->Run(args);
  return WaitingRun::Run(plan_, args, decision.is_measured ? &choice_ : nullptr, decision);
}

}  // namespace sluice
