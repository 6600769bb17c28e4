#ifndef SLUICE_TOOLS_CLI_RUN_FUNCTIONS_OPTION_H_
#define SLUICE_TOOLS_CLI_RUN_FUNCTIONS_OPTION_H_

#include "CLI/App.hpp"
#include "graph/functions/call_choice.h"

namespace sluice {

// Declares --functions: see Note [Called or inlined] in graph/functions/call_choice.h.
void DeclareFunctions(CLI::App& app, CallPolicy* policy);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_FUNCTIONS_OPTION_H_
