#ifndef SLUICE_EXECUTOR_FUNCTIONS_CALL_STORE_H_
#define SLUICE_EXECUTOR_FUNCTIONS_CALL_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/plan/kernel_store.h"
#include "graph/functions/call_state_names.h"

namespace sluice {

// The kernels with state in functions that one plan calls, or in one function that kernels of the plan call, with their
// names for checkpoints. See Note [State of calls] in graph/functions/call_states.h.
struct CallStore {
  std::string prefix;  // Of the names.
  KernelStore kernels;
  // Of the session's store, when the graph of the plan was cut out of the session's: see Note [Kernel store].
  int64_t of_session = KernelStore::kAnyGeneration;
  CallStateNames names;  // Of instances. Complete when the plan is made.
};

// All of one plan. Thread-safe when the plan is made.
struct CallStores {
  std::vector<std::shared_ptr<const CallStore>> stores;

  // All kernels, by name: "INSTANCE/NODE", or "FUNCTION/NODE" of a function that kernels call.
  std::vector<std::pair<std::string, std::shared_ptr<const Kernel>>> Kernels() const {
    std::vector<std::pair<std::string, std::shared_ptr<const Kernel>>> kernels;
    for (const std::shared_ptr<const CallStore>& store : stores) {
      for (auto& [key, kernel] : store->kernels.Kernels()) {
        kernels.emplace_back(store->prefix + store->names.WithName(key), std::move(kernel));
      }
    }
    return kernels;
  }
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_FUNCTIONS_CALL_STORE_H_
