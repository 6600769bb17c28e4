#include "executor/session/generator_states.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "executor/functions/call_store.h"
#include "executor/plan/device_kernel.h"
#include "executor/plan/kernel_store.h"
#include "graph/base/error.h"
#include "kernels/random/philox.h"
#include "kernels/random/seeded_generator.h"
#include "kernels/saved_state.h"

namespace sluice {
namespace {

constexpr absl::string_view kOfSession = "sluice_generator/";
constexpr absl::string_view kOfPlan = "sluice_call_state/";

using Callables = absl::Span<const Callable* const>;

// Kernels with state, by their names in checkpoints.
using NamedKernels = std::map<std::string, std::shared_ptr<const Kernel>, std::less<>>;

// The state of a kernel; all null if it has none.
struct KeptState {
  explicit KeptState(const Kernel& kernel)
      : random(dynamic_cast<const GeneratorKernel*>(&KernelInside(kernel))),
        other(dynamic_cast<const SavedState*>(&KernelInside(kernel))) {}

  bool is_there() const { return random != nullptr || other != nullptr; }
  Tensor Save() const {
    if (random == nullptr) return other->SaveState();
    const Philox state = random->generator().state();
    const uint64_t words[] = {state.key(), state.low(), state.high()};
    return Tensor::Vector<uint64_t>(words);
  }
  // False: `saved` is not a state of such a kernel.
  bool Restore(const Tensor& saved) const {
    if (random == nullptr) return other->RestoreState(saved);
    if (saved.dtype() != DType::kUInt64 || saved.num_elements() != 3) return false;
    const auto words = saved.flat<uint64_t>();
    random->generator().SetState(Philox(words[0], words[1], words[2]));
    return true;
  }

  const GeneratorKernel* const random;
  const SavedState* const other;
};

// Adds those of `store`, each called `prefix` and its name there.
template <typename Store>
void AddKernels(const Store& store, absl::string_view prefix, NamedKernels* kernels) {
  for (auto& [name, kernel] : store.Kernels()) {
    if (KeptState(*kernel).is_there()) kernels->emplace(absl::StrCat(prefix, name), kernel);
  }
}

NamedKernels KernelsOfSession(Session& session, Callables callables) {
  NamedKernels kernels;
  AddKernels(session.core().kernel_store(), "", &kernels);
  NamedKernels named;
  for (auto& [node, kernel] : kernels) {
    const auto runs_it = [&name = node](const Callable* callable) { return callable->graph().Find(name).valid(); };
    if (!callables.empty() && std::none_of(callables.begin(), callables.end(), runs_it)) continue;
    named.emplace(absl::StrCat(kOfSession, node), kernel);
  }
  return named;
}

void AddKernelsOfPlans(Session& session, Callables callables, NamedKernels* kernels) {
  std::map<std::string, int> times;  // Counts each name.
  for (const SessionCore::Plan& plan : session.core().Plans()) {
    const std::shared_ptr<const CallStores> stores = plan.stores.lock();
    if (stores == nullptr) continue;
    const auto has_it = [&stores](const Callable* callable) { return &callable->call_stores() == stores.get(); };
    if (!callables.empty() && std::none_of(callables.begin(), callables.end(), has_it)) continue;
    const int time = times[plan.name]++;
    const std::string number = time > 0 ? absl::StrCat(".", time) : "";
    AddKernels(*stores, absl::StrCat(kOfPlan, plan.name, number, "/"), kernels);
  }
}

NamedKernels KernelsOf(Session& session, Callables callables) {
  NamedKernels kernels = KernelsOfSession(session, callables);
  AddKernelsOfPlans(session, callables, &kernels);
  return kernels;
}

}  // namespace

void AppendGeneratorStates(Session& session, Callables callables, NamedTensors* tensors) {
  for (const auto& [name, kernel] : KernelsOf(session, callables)) {
    tensors->emplace_back(name, KeptState(*kernel).Save());
  }
}

absl::Status RestoreGeneratorStates(Session& session, const NamedTensors& tensors) {
  const NamedKernels kernels = KernelsOf(session, {});
  for (const auto& [name, tensor] : tensors) {
    if (!absl::StartsWith(name, kOfSession) && !absl::StartsWith(name, kOfPlan)) continue;
    const auto found = kernels.find(name);
    if (found == kernels.end() || KeptState(*found->second).Restore(tensor)) continue;
    return Error(ErrorCode::kCheckpointEntry)
        .Text(absl::StrCat("'", PrintableName(name), "' is not the state of that node of the graph"));
  }
  return absl::OkStatus();
}

}  // namespace sluice
