#include "executor/compiled/choosing_executor.h"

#include <utility>

#include "absl/base/optimization.h"
#include "executor/run_setup.h"
#include "executor/trace/node_observer.h"

namespace sluice {

ChoosingExecutor::ChoosingExecutor(std::shared_ptr<const CompiledGraph> compiled)
    : compiled_(std::move(compiled)), serial_(compiled_), dataflow_(compiled_) {}

absl::Status ChoosingExecutor::Run(const Args& args) const {
  if (MustBeDataflow(args)) {
    const absl::StatusOr<const Executor*> dataflow = dataflow_.Make(args);
    return dataflow.ok() ? (*dataflow)->Run(args) : FailRun(args, dataflow.status());
  }
  if (!RunSetup::HasSeveralThreads(args)) return serial_.Run(args);
  const DriverChoice::Decision decision = choice_.Next();
  // Most graphs are too quick for threads and never need this.
  const Executor* const dataflow = decision.use_dataflow ? dataflow_.Find(args) : nullptr;
  const int64_t start = decision.is_timed ? NodeObserver::NowNs() : 0;
  absl::Status status = dataflow != nullptr ? dataflow->Run(args) : serial_.Run(args);
  const bool was_tried = (dataflow != nullptr) == decision.use_dataflow;
  if (decision.is_timed && was_tried && status.ok()) choice_.Record(decision, NodeObserver::NowNs() - start);
  return status;
}

bool ChoosingExecutor::RunsAtOnce(const Args& args) const {
  if (MustBeDataflow(args) || !serial_.RunsAtOnce(args)) return false;
  return !RunSetup::HasSeveralThreads(args) || choice_.IsSerialNow();
}

void ChoosingExecutor::RunAsync(const Args& args, Done done) const {
  if (MustBeDataflow(args)) {
    const absl::StatusOr<const Executor*> dataflow = dataflow_.Make(args);
    if (!dataflow.ok()) return EndAtOnce(std::move(done), FailRun(args, dataflow.status()));
    return (*dataflow)->RunAsync(args, std::move(done));
  }
  if (!RunSetup::HasSeveralThreads(args)) return serial_.RunAsync(args, std::move(done));
  const DriverChoice::Decision decision = choice_.Next();
  const Executor* const dataflow = decision.use_dataflow ? dataflow_.Find(args) : nullptr;
  const Executor& chosen = dataflow != nullptr ? *dataflow : static_cast<const Executor&>(serial_);
  const bool was_tried = (dataflow != nullptr) == decision.use_dataflow;
  if (!decision.is_timed || !was_tried) return chosen.RunAsync(args, std::move(done));
  std::unique_ptr<Timed> timed;
  try {
    timed = std::make_unique<Timed>();
  } catch (...) {
    return chosen.RunAsync(args, std::move(done));
  }
  timed->done = std::move(done);
  timed->decision = decision;
  timed->start_ns = NodeObserver::NowNs();
  // Two pointers: what AnyInvocable holds without an allocation.
  chosen.RunAsync(args, [this, timed = std::move(timed)](absl::Status status) {
    if (status.ok()) choice_.Record(timed->decision, NodeObserver::NowNs() - timed->start_ns);
    std::move(timed->done)(std::move(status));
  });
}

}  // namespace sluice
