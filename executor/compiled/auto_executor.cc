#include "executor/compiled/auto_executor.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "executor/run_setup.h"
#include "executor/trace/node_observer.h"

namespace sluice {
namespace {

// Whether several kernels of a program that waits take long, one of them certainly.
bool HasWorkForThreads(const SerialProgram* waiting) {
  if (waiting == nullptr) return false;
  int num_heavy = 0, num_not_cheap = 0;
  for (const SerialInstruction& instruction : waiting->instructions()) {
    if (instruction.action != SerialAction::kCompute) continue;
    num_heavy += instruction.cost_hint == CostHint::kHeavy ? 1 : 0;
    num_not_cheap += instruction.cost_hint != CostHint::kCheap ? 1 : 0;
  }
  return num_heavy > 0 && num_not_cheap > 1;
}

}  // namespace

// A run under way that will be recorded.
class AutoExecutor::Measured {
 public:
  Measured(const AutoExecutor& owner, const Args& args, const DriverChoice::Decision& decision)
      : owner_(owner), args_(args), decision_(decision) {
    if (owner.compiled_->waiting_program() != nullptr) {
      args_.observer = &meter_.emplace(args.observer, &owner.compiled_->kernels());
    }
  }

  const Args& args() const { return args_; }
  void Record() const {
    owner_.choice_.Record(decision_, meter_.has_value() ? meter_->shared_ns() : NodeObserver::NowNs() - start_ns_);
  }

  Done done;  // Of RunAsync.

 private:
  const AutoExecutor& owner_;
  Args args_;
  const DriverChoice::Decision decision_;
  std::optional<KernelTimeMeter> meter_;
  const int64_t start_ns_ = NodeObserver::NowNs();
};

AutoExecutor::AutoExecutor(std::shared_ptr<const CompiledGraph> compiled, std::unique_ptr<const Executor> plain)
    : compiled_(std::move(compiled)),
      plain_(std::move(plain)),
      is_for_threads_(HasWorkForThreads(compiled_->waiting_program())),
      choice_(compiled_->waiting_program() != nullptr ? DriverChoice::By::kKernelTime : DriverChoice::By::kTime),
      dataflow_(compiled_) {}

AutoExecutor::Chosen AutoExecutor::Choose(const Args& args) const {
  DriverChoice::Decision decision;
  decision.use_dataflow = is_for_threads_;
  if (!is_for_threads_) decision = choice_.Next();
  // Most graphs are too quick for threads and never need this.
  const Executor* const dataflow = decision.use_dataflow ? dataflow_.Find(args) : nullptr;
  const bool is_as_decided = (dataflow != nullptr) == decision.use_dataflow;
  return {dataflow != nullptr ? *dataflow : *plain_, decision, decision.is_measured && is_as_decided};
}

absl::Status AutoExecutor::Run(const Args& args) const {
  if (MustBeDataflow(args)) {
    const absl::StatusOr<const Executor*> dataflow = dataflow_.Make(args);
    return dataflow.ok() ? (*dataflow)->Run(args) : FailRun(args, dataflow.status());
  }
  if (!RunSetup::HasSeveralThreads(args)) return plain_->Run(args);
  const Chosen chosen = Choose(args);
  if (!chosen.is_measured) return chosen.executor.Run(args);
  const Measured measured(*this, args, chosen.decision);
  absl::Status status = chosen.executor.Run(measured.args());
  if (status.ok()) measured.Record();
  return status;
}

bool AutoExecutor::RunsAtOnce(const Args& args) const {
  if (MustBeDataflow(args) || !plain_->RunsAtOnce(args)) return false;
  return !RunSetup::HasSeveralThreads(args) || choice_.IsSerialNow();
}

void AutoExecutor::RunAsync(const Args& args, Done done) const {
  if (MustBeDataflow(args)) {
    const absl::StatusOr<const Executor*> dataflow = dataflow_.Make(args);
    if (!dataflow.ok()) return EndAtOnce(std::move(done), FailRun(args, dataflow.status()));
    return (*dataflow)->RunAsync(args, std::move(done));
  }
  if (!RunSetup::HasSeveralThreads(args)) return plain_->RunAsync(args, std::move(done));
  const Chosen chosen = Choose(args);
  std::unique_ptr<Measured> measured;
  if (chosen.is_measured) {
    try {
      measured = std::make_unique<Measured>(*this, args, chosen.decision);
    } catch (...) {
      // Without memory, a run is not measured.
    }
  }
  if (measured == nullptr) return chosen.executor.RunAsync(args, std::move(done));
  measured->done = std::move(done);
  const Args run = measured->args();  // The run may be over, and `measured` gone, before RunAsync returns.
  // One pointer: what AnyInvocable holds without an allocation.
  chosen.executor.RunAsync(run, [measured = std::move(measured)](absl::Status status) {
    if (status.ok()) measured->Record();
    std::move(measured->done)(std::move(status));
  });
}

}  // namespace sluice
