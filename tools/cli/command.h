#ifndef SLUICE_TOOLS_CLI_COMMAND_H_
#define SLUICE_TOOLS_CLI_COMMAND_H_

#include <memory>

#include "CLI/App.hpp"
#include "absl/strings/string_view.h"
#include "tools/cli/console/console.h"

namespace sluice {

// One subcommand of `sluice`. Made by its row of the command table when it is asked for, lives for one run.
class Command {
 public:
  virtual ~Command() = default;

  // Declares options and arguments on `app`, bound to members. --help, --quiet and --no-color are there already.
  virtual void Declare(CLI::App& app) = 0;

  // Does the work after the command line was read. Results go to console.Write, diagnostics to its other functions.
  // Returns an exit status; main flushes the console and turns a failed flush into kExitFailed.
  virtual int Run(Console& console) = 0;
};

// A row of the command table; static text.
struct CommandRow {
  absl::string_view name;
  absl::string_view arguments;  // "MODEL", for the list of commands.
  absl::string_view summary;    // One line.
  absl::string_view example;    // One command line, shown at the end of its help.
  std::unique_ptr<Command> (*make)();
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_COMMAND_H_
