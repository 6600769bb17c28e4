#ifndef SLUICE_TOOLS_CLI_CHECK_COMMAND_H_
#define SLUICE_TOOLS_CLI_CHECK_COMMAND_H_

#include <memory>

#include "tools/cli/command.h"

namespace sluice {

// `sluice check`.
std::unique_ptr<Command> MakeCheckCommand();

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CHECK_COMMAND_H_
