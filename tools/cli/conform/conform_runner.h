#ifndef SLUICE_TOOLS_CLI_CONFORM_CONFORM_RUNNER_H_
#define SLUICE_TOOLS_CLI_CONFORM_CONFORM_RUNNER_H_

#include "graph/placement/kernel_catalog.h"
#include "tools/cli/conform/conform_case.h"
#include "tools/cli/conform/conform_report.h"

namespace sluice {

// Runs one case: loads its graph, inspects it, then takes its steps in order. A step that has no kernel for something
// it needs has failed, with that as the reason; nothing is skipped.
// `catalog` says what can run. Thread-safe: cases share nothing.
CaseResult RunConformCase(const ConformCase& test, const KernelCatalog& catalog);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONFORM_CONFORM_RUNNER_H_
