#ifndef SLUICE_TOOLS_CLI_COMMAND_TABLE_H_
#define SLUICE_TOOLS_CLI_COMMAND_TABLE_H_

#include "absl/types/span.h"
#include "tools/cli/command.h"

namespace sluice {

// All commands of this build, in the order of the help. A new command is a file <name>_command.{h,cc} and a row here.
absl::Span<const CommandRow> AllCommands();

// The row called `name`, or null.
const CommandRow* FindCommand(absl::string_view name);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_COMMAND_TABLE_H_
