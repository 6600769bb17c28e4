#ifndef SLUICE_TOOLS_CLI_CONVERT_COMMAND_H_
#define SLUICE_TOOLS_CLI_CONVERT_COMMAND_H_

#include <memory>

#include "tools/cli/command.h"

namespace sluice {

// `sluice convert`.
std::unique_ptr<Command> MakeConvertCommand();

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONVERT_COMMAND_H_
