#include "executor/compiled/waiting_executor.h"

#include <utility>

#include "absl/status/statusor.h"
#include "executor/run_setup.h"

namespace sluice {

WaitingExecutor::WaitingExecutor(std::shared_ptr<const CompiledGraph> compiled)
    : compiled_(std::move(compiled)),
      program_(*compiled_->waiting_program()),
      ports_(program_, compiled_->kernels()),
      may_choose_(compiled_->driver() == Driver::kAuto),
      registers_(program_.num_registers()),
      dataflow_(compiled_) {}

WaitChoice::Decision WaitingExecutor::Decide(const Args& args) const {
  if (!may_choose_ || !RunSetup::HasSeveralThreads(args) || args.observer != nullptr) return {};
  return choice_.Next();
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
  WaitingRun::RunAsync(plan(), args, decision.is_measured ? &choice_ : nullptr, decision, std::move(done));
}

absl::Status WaitingExecutor::Run(const Args& args) const {
  if (MustBeDataflow(args)) {
    const absl::StatusOr<const Executor*> dataflow = dataflow_.Make(args);
    return dataflow.ok() ? (*dataflow)->Run(args) : FailRun(args, dataflow.status());
  }
  const WaitChoice::Decision decision = Decide(args);
  const Executor* const dataflow = Dataflow(decision, args);
  if (dataflow != nullptr) return dataflow->Run(args);
  return WaitingRun::Run(plan(), args, decision.is_measured ? &choice_ : nullptr, decision);
}

}  // namespace sluice
