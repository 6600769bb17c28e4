#ifndef SLUICE_TOOLS_CLI_GRAD_COMMAND_H_
#define SLUICE_TOOLS_CLI_GRAD_COMMAND_H_

#include <memory>

#include "tools/cli/command.h"

namespace sluice {

// `sluice grad`.
std::unique_ptr<Command> MakeGradCommand();

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_GRAD_COMMAND_H_
