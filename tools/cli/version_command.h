#ifndef SLUICE_TOOLS_CLI_VERSION_COMMAND_H_
#define SLUICE_TOOLS_CLI_VERSION_COMMAND_H_

#include <memory>

#include "tools/cli/command.h"

namespace sluice {

// `sluice version`.
std::unique_ptr<Command> MakeVersionCommand();

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_VERSION_COMMAND_H_
