#include "executor/session/generator_states.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "executor/device_kernel.h"
#include "graph/base/error.h"
#include "kernels/random/philox.h"
#include "kernels/random/seeded_generator.h"

namespace sluice {
namespace {

constexpr absl::string_view kPrefix = "sluice_generator/";

// Null for a kernel that keeps no generator.
const GeneratorKernel* RandomKernel(const Kernel& kernel) {
  return dynamic_cast<const GeneratorKernel*>(&KernelInside(kernel));
}

}  // namespace

void AppendGeneratorStates(Session& session, absl::Span<const Callable* const> callables, NamedTensors* tensors) {
  for (const auto& [node, kernel] : session.core().kernel_store().Kernels()) {
    const auto* const random = RandomKernel(*kernel);
    const auto runs_it = [&name = node](const Callable* callable) { return callable->graph().Find(name).valid(); };
    if (random == nullptr || !(callables.empty() || std::any_of(callables.begin(), callables.end(), runs_it))) continue;
    const Philox state = random->generator().state();
    const uint64_t words[] = {state.key(), state.low(), state.high()};
    tensors->emplace_back(absl::StrCat(kPrefix, node), Tensor::Vector<uint64_t>(words));
  }
}

absl::Status RestoreGeneratorStates(Session& session, const NamedTensors& tensors) {
  std::map<std::string, std::shared_ptr<const Kernel>, std::less<>> kernels;
  for (auto& [node, kernel] : session.core().kernel_store().Kernels()) kernels.emplace(node, kernel);
  for (const auto& [name, tensor] : tensors) {
    absl::string_view node = name;
    if (!absl::ConsumePrefix(&node, kPrefix)) continue;
    const auto found = kernels.find(node);
    if (found == kernels.end()) continue;
    const auto* const random = RandomKernel(*found->second);
    if (random == nullptr || tensor.dtype() != DType::kUInt64 || tensor.num_elements() != 3) {
      return Error(ErrorCode::kCheckpointEntry)
          .Text(absl::StrCat("'", PrintableName(name), "' is not the state of a generator of this graph"));
    }
    const auto words = tensor.flat<uint64_t>();
    random->generator().SetState(Philox(words[0], words[1], words[2]));
  }
  return absl::OkStatus();
}

}  // namespace sluice
