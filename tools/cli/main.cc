// The `sluice` program: finds the command, reads its command line, runs it.
//
// Nothing is built before it is needed: `--version` and the list of commands are printed from constant text.

#include <csignal>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graph/base/error.h"
#include "graph/base/nearest_names.h"
#include "tools/cli/command_table.h"
#include "tools/cli/console/console.h"
#include "tools/cli/version.h"

namespace sluice {
namespace {

// Of what CLI11 says about a command line, which holds what was typed.
constexpr size_t kMaxProblemBytes = 400;

void WriteHelp(Console& console) {
  const Paint& paint = console.out();
  console.Write(absl::StrCat("Sluice ", kVersion,
                             ": runs, checks and converts TensorFlow graphs, without TensorFlow.\n\n",
                             paint.Bold("Usage:"), " sluice COMMAND [OPTIONS]\n\n", paint.Bold("Commands:"), "\n"));
  for (const CommandRow& row : AllCommands()) {
    const std::string call = absl::StrCat(row.name, row.arguments.empty() ? "" : " ", row.arguments);
    console.Write(absl::StrFormat("  %-16s %s\n", call, row.summary));
  }
  console.Write(absl::StrCat(
      "\n", paint.Bold("Options:"), "\n  -h, --help       this text; sluice COMMAND --help for a command's\n",
      "  -V, --version    the version\n\n",
      "MODEL is a .pb or .pbtxt file, a MetaGraphDef, a SavedModel directory, or - for standard input.\n",
      "Exit status: 0 done, 1 it failed or something is wrong, 2 wrong use.\n"));
}

int WrongUse(Console& console, const std::string& problem, absl::string_view command) {
  const Paint& paint = console.err();
  const std::string name = command.empty() ? "sluice" : absl::StrCat("sluice ", command);
  console.Complain(absl::StrCat(paint.Red(name + ":"), " ", problem, "\nTry '", name, " --help'."));
  return kExitUsage;
}

int UnknownCommand(Console& console, absl::string_view name) {
  if (absl::StartsWith(name, "-"))
    return WrongUse(console, absl::StrCat("unknown option '", PrintableName(name), "'"), "");
  std::vector<absl::string_view> names;
  for (const CommandRow& row : AllCommands()) names.push_back(row.name);
  const std::vector<std::string> near = NearestNames(name, names, 1);
  const std::string hint = near.empty() ? absl::StrCat("; there are ", absl::StrJoin(names, ", "))
                                        : absl::StrCat("; did you mean '", near[0], "'?");
  return WrongUse(console, absl::StrCat("there is no command '", PrintableName(name), "'", hint), "");
}

// Options that every command has.
struct CommonOptions {
  bool quiet = false;
};

void DeclareCommon(const CommandRow& row, CLI::App& app, CommonOptions* options) {
  app.set_help_flag();  // It stands first otherwise; our group of options for all commands comes last.
  app.set_help_flag("-h,--help", "this text")->group("General");
  app.add_flag("-q,--quiet", options->quiet, "no notes, warnings and progress on standard error")->group("General");
  app.footer(absl::StrCat("Example:\n  ", row.example));
  app.get_formatter()->column_width(30);
  app.get_formatter()->label("REQUIRED", "(required)");
}

int RunCommand(Console& console, const CommandRow& row, const std::vector<std::string>& arguments) {
  const std::unique_ptr<Command> command = row.make();
  CLI::App app(std::string(row.summary), absl::StrCat("sluice ", row.name));
  CommonOptions common;
  command->Declare(app);
  DeclareCommon(row, app, &common);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the end.
  } catch (const CLI::CallForHelp&) {
    console.Write(absl::StrReplaceAll(app.help(), {{"\n\n\n", "\n\n"}}));
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return WrongUse(console, PrintableName(error.what(), kMaxProblemBytes), row.name);
  }
  console.set_quiet(common.quiet);
  return command->Run(console);
}

int Dispatch(Console& console, const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    WriteHelp(console);
    return kExitUsage;
  }
  const std::string& first = arguments[0];
  if (first == "--version" || first == "-V") {
    console.Write(absl::StrCat("sluice ", kVersion, "\n"));
    return kExitOk;
  }
  const bool is_help = first == "--help" || first == "-h" || first == "help";
  if (is_help && arguments.size() == 1) {
    WriteHelp(console);
    return kExitOk;
  }
  const std::string& name = is_help ? arguments[1] : first;
  const CommandRow* row = FindCommand(name);
  if (row == nullptr) return UnknownCommand(console, name);
  if (is_help) return RunCommand(console, *row, {"--help"});
  return RunCommand(console, *row, std::vector<std::string>(arguments.begin() + 1, arguments.end()));
}

int Main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // A write to a closed pipe then fails with EPIPE, which the console handles.
  Console console;
  int exit_status = kExitFailed;
  try {
    exit_status = Dispatch(console, std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {  // Out of memory, or a library's.
    console.Problem(::sluice::Error(ErrorCode::kInternal).Text(error.what()));
  }
  if (const absl::Status flushed = console.Flush(); !flushed.ok()) {
    console.Problem(flushed);
    return kExitFailed;
  }
  return exit_status;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::Main(argc, argv); }
