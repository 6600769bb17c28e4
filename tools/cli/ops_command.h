#ifndef SLUICE_TOOLS_CLI_OPS_COMMAND_H_
#define SLUICE_TOOLS_CLI_OPS_COMMAND_H_

#include <memory>

#include "tools/cli/command.h"

namespace sluice {

// `sluice ops`.
std::unique_ptr<Command> MakeOpsCommand();

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_OPS_COMMAND_H_
