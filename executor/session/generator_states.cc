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

NamedKernels KernelsOf(Session& session, Callables callables) {
  NamedKernels kernels;
  std::map<std::string, int> times;  // How often the name of a plan was met.
  int64_t scope = KernelStore::kSession;
  std::string prefix(kOfSession);
  for (const KernelStore::Entry& entry : session.core().kernel_store().Kernels()) {
    const auto runs_it = [&entry](const Callable* callable) {
      if (entry.scope != KernelStore::kSession) return callable->call_scope().number() == entry.scope;
      return callable->graph().Find(entry.node).valid();
    };
    if (!callables.empty() && std::none_of(callables.begin(), callables.end(), runs_it)) continue;
    if (entry.scope != scope) {
      scope = entry.scope;
      const int time = times[entry.plan]++;
      prefix = absl::StrCat(kOfPlan, entry.plan, time > 0 ? absl::StrCat(".", time) : "", "/");
    }
    if (KeptState(*entry.kernel).is_there()) kernels.emplace(prefix + entry.node, entry.kernel);
  }
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
