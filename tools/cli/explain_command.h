#ifndef SLUICE_TOOLS_CLI_EXPLAIN_COMMAND_H_
#define SLUICE_TOOLS_CLI_EXPLAIN_COMMAND_H_

#include <memory>

#include "tools/cli/command.h"

namespace sluice {

// `sluice explain`.
std::unique_ptr<Command> MakeExplainCommand();

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_EXPLAIN_COMMAND_H_
