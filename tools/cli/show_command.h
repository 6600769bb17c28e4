#ifndef SLUICE_TOOLS_CLI_SHOW_COMMAND_H_
#define SLUICE_TOOLS_CLI_SHOW_COMMAND_H_

#include <memory>

#include "tools/cli/command.h"

namespace sluice {

// `sluice show`.
std::unique_ptr<Command> MakeShowCommand();

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_SHOW_COMMAND_H_
