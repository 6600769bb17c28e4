#ifndef SLUICE_EXECUTOR_PLAN_CALL_STORE_H_
#define SLUICE_EXECUTOR_PLAN_CALL_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "executor/plan/kernel_store.h"
#include "graph/functions/call_state_names.h"

namespace sluice {

// Where the kernels with state in functions that one plan calls are kept, and by which names: "INSTANCE/NODE", as
// checkpoints hold them. Lives while the plan is made. See Note [State of calls] in graph/functions/call_states.h.
struct CallStore {
  explicit CallStore(std::shared_ptr<const PlanScope> of_plan) : scope(std::move(of_plan)) {}

  // The kernel of the node that the plan knows as `key`: see KernelStore.
  absl::StatusOr<std::shared_ptr<const Kernel>> FindOrMake(absl::string_view key, std::string properties,
                                                           KernelStore::Make make) const {
    return scope->FindOrMake(absl::StrCat(prefix, names.WithName(key)), std::move(properties), make);
  }

  const std::shared_ptr<const PlanScope> scope;
  std::string prefix;  // Of a function that kernels of the plan call, "FUNCTION/"; else empty.
  // Of the session's scope, when the graph of the plan was cut out of the session's: see Note [Kernel store].
  int64_t of_session = KernelStore::kAnyGeneration;
  CallStateNames names;  // Of instances: each is named before the nodes in it get kernels.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PLAN_CALL_STORE_H_
