#include "executor/compiled/local_executor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/compiled/auto_executor.h"
#include "executor/compiled/dataflow_executor.h"
#include "executor/compiled/serial_executor.h"
#include "executor/compiled/waiting_executor.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// Runs another executor on one thread at a time. Immutable.
class SingleThreadedExecutor final : public Executor {
 public:
  explicit SingleThreadedExecutor(std::unique_ptr<Executor> executor) : executor_(std::move(executor)) {}

  void RunAsync(const Args& args, Done done) const override { executor_->RunAsync(Inline(args), std::move(done)); }
  absl::Status Run(const Args& args) const override { return executor_->Run(Inline(args)); }
  bool RunsAtOnce(const Args& args) const override { return executor_->RunsAtOnce(Inline(args)); }

 private:
  static Args Inline(Args args) {
    args.run_all_kernels_inline = true;
    return args;
  }
  const std::unique_ptr<Executor> executor_;
};

absl::Status CheckKind(absl::string_view kind) {
  if (kind == "" || kind == kDefaultExecutor || kind == kSingleThreadedExecutor) return absl::OkStatus();
  return Error(ErrorCode::kOpNotFound).Text(absl::StrCat("there is no executor of kind '", kind, "'"));
}

absl::StatusOr<std::unique_ptr<Executor>> OverPlans(std::shared_ptr<const CompiledGraph> compiled, StopPoll* stop) {
  std::unique_ptr<Executor> plain;
  if (compiled->waiting_program() != nullptr) {
    plain = std::make_unique<WaitingExecutor>(compiled);
  } else if (compiled->program() != nullptr) {
    plain = std::make_unique<SerialExecutor>(compiled);
  } else {
    return NewDataflowExecutor(std::move(compiled), stop);
  }
  if (compiled->driver() == Driver::kSerial) return plain;
  return std::make_unique<AutoExecutor>(std::move(compiled), std::move(plain));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executor>> NewLocalExecutor(const LocalExecutorParams& params, Graph graph) {
  return NewExecutor(kDefaultExecutor, params, std::move(graph));
}

absl::StatusOr<std::unique_ptr<Executor>> NewExecutor(absl::string_view kind, const LocalExecutorParams& params,
                                                      Graph graph) {
  SLUICE_RETURN_IF_ERROR(CheckKind(kind));
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const CompiledGraph> compiled,
                          CompiledGraph::Create(std::move(graph), params));
  return NewExecutor(kind, std::move(compiled), params.stop);
}

absl::StatusOr<std::unique_ptr<Executor>> NewExecutor(absl::string_view kind,
                                                      std::shared_ptr<const CompiledGraph> compiled, StopPoll* stop) {
  SLUICE_RETURN_IF_ERROR(CheckKind(kind));
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, OverPlans(std::move(compiled), stop));
  if (kind != kSingleThreadedExecutor) return executor;
  return std::make_unique<SingleThreadedExecutor>(std::move(executor));
}

}  // namespace sluice
