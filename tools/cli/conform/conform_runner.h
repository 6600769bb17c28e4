#ifndef SLUICE_TOOLS_CLI_CONFORM_CONFORM_RUNNER_H_
#define SLUICE_TOOLS_CLI_CONFORM_CONFORM_RUNNER_H_

#include <memory>

#include "graph/functions/call_choice.h"
#include "graph/ir/op_registry.h"
#include "kernels/kernel_registry.h"
#include "tools/cli/conform/conform_case.h"
#include "tools/cli/conform/conform_report.h"

namespace sluice {

// Runs one case: loads its graph, inspects it, then runs its steps in order in one session and compares the results. A
// step that lacks a kernel fails, with that as the reason; nothing is skipped. `ops`: the known ops; null:
// TensorFlow's. Answers do not depend on `calls`. Thread-safe: cases share nothing but `kernels` and `ops`.
CaseResult RunConformCase(const ConformCase& test, const KernelRegistry& kernels,
                          const std::shared_ptr<const OpRegistry>& ops = nullptr,
                          CallPolicy calls = CallPolicy::kByCost);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONFORM_CONFORM_RUNNER_H_
