#include "executor/compiled/executor_kinds.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {

const ExecutorKinds& ExecutorKinds::Builtin() {
  static const ExecutorKinds& kinds = *std::make_unique<ExecutorKinds>().release();
  return kinds;
}

bool ExecutorKinds::IsBuiltin(absl::string_view kind) {
  return kind == "" || kind == kDefaultExecutor || kind == kSingleThreadedExecutor;
}

absl::Status ExecutorKinds::Add(absl::string_view kind, ExecutorFactory factory) {
  MutexLock lock(&mu_);
  if (IsBuiltin(kind) || factories_.contains(kind)) {
    return Error(ErrorCode::kWrongUse).Text(absl::StrCat("there is an executor of kind '", kind, "' already"));
  }
  factories_.emplace(kind, std::make_unique<const ExecutorFactory>(std::move(factory)));
  return absl::OkStatus();
}

bool ExecutorKinds::Has(absl::string_view kind) const {
  MutexLock lock(&mu_);
  return IsBuiltin(kind) || factories_.contains(kind);
}

absl::StatusOr<std::unique_ptr<Executor>> ExecutorKinds::Create(absl::string_view kind,
                                                                const LocalExecutorParams& params, Graph graph) const {
  const ExecutorFactory* factory = nullptr;
  {
    MutexLock lock(&mu_);
    const auto found = factories_.find(kind);
    if (found != factories_.end()) factory = found->second.get();
  }
  return factory != nullptr ? (*factory)(params, std::move(graph)) : NewExecutor(kind, params, std::move(graph));
}

}  // namespace sluice
