#ifndef SLUICE_TOOLS_CLI_TRAIN_COMMAND_H_
#define SLUICE_TOOLS_CLI_TRAIN_COMMAND_H_

#include <memory>

#include "tools/cli/command.h"

namespace sluice {

std::unique_ptr<Command> MakeTrainCommand();

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_COMMAND_H_
