// The `sluice` program: finds the command, reads its command line, runs it.
//
// Nothing is built before it is needed: `--version` and the list of commands are printed from constant text.

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/nearest_names.h"
#include "tools/cli/command_table.h"
#include "tools/cli/console/console.h"
#include "tools/cli/console/error_json.h"
#include "tools/cli/version.h"

namespace sluice {
namespace {

// Bounds CLI11's message, which repeats what was typed.
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
      "Exit status: 0 done, 1 it failed or something is wrong, 2 wrong use.\n",
      "With --json standard output has one document also where a command fails: the errors.\n"));
}

int WrongUse(Console& console, const std::string& problem, absl::string_view command) {
  const Paint& paint = console.err();
  const std::string name = command.empty() ? "sluice" : absl::StrCat("sluice ", command);
  console.Complain(absl::StrCat(paint.Red(name + ":"), " ", problem));
  console.Complain(absl::StrCat("Try '", name, " --help'."));
  return kExitUsage;
}

// Returns the option of `app` that "--fech" may mean, with its dashes; empty if none is near.
std::string NearestOption(const CLI::App& app, absl::string_view unknown) {
  const std::string stem(absl::StripPrefix(absl::StripPrefix(unknown, "-"), "-"));
  std::vector<std::string> names, begun;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_snames()) {
      if (name == stem) return "-" + name;
    }
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
      if (absl::StartsWith(name, stem)) begun.push_back(names.back());
      if (name == stem) return names.back();
    }
  }
  // Kept with the dashes: then two swapped letters count as near.
  const std::vector<absl::string_view> candidates(names.begin(), names.end());
  const std::vector<std::string> near = NearestNames("--" + stem, candidates, 1);
  if (!near.empty()) return near[0];
  return begun.size() == 1 ? begun[0] : "";
}

std::string UnknownOption(const CLI::App& app, const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  const std::string near = NearestOption(app, option);
  return absl::StrCat("unknown option '", PrintableName(option), "'",
                      near.empty() ? "" : absl::StrCat(" (did you mean ", near, "?)"));
}

// Describes why CLI11 refuses a command line: unknown options first, which may be the cause of the rest.
std::string ProblemWith(const CLI::App& app, const CLI::ParseError& error) {
  std::vector<std::string> unknown;
  const std::vector<std::string> words = app.remaining();
  for (const std::string& word : words) {
    const bool is_number = word.size() > 1 && (absl::ascii_isdigit(word[1]) || word[1] == '.');
    if (word.size() > 1 && word[0] == '-' && !is_number) unknown.push_back(UnknownOption(app, word));
  }
  if (!unknown.empty()) return absl::StrJoin(unknown, ", ");
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return error.what();
  return absl::StrCat("not expected: ", absl::StrJoin(words, " "));
}

int UnknownCommand(Console& console, absl::string_view name) {
  if (absl::StartsWith(name, "-")) {
    CLI::App app;
    app.add_flag("-V,--version");
    return WrongUse(console, UnknownOption(app, std::string(name)), "");
  }
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
  app.set_help_flag();  // It would come first; our group of options for all commands comes last.
  app.set_help_flag("-h,--help", "this text")->group("General");
  app.add_flag("-q,--quiet", options->quiet, "no notes, warnings and progress on standard error")->group("General");
  app.footer(absl::StrCat("Example:\n  ", row.example));
  app.get_formatter()->column_width(30);
  app.get_formatter()->label("REQUIRED", "(required)");
}

int ParseAndRun(Console& console, const CommandRow& row, const std::vector<std::string>& arguments,
                const CommonOptions& common, CLI::App& app, Command& command, absl::Status* wrong_use) {
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the end.
  } catch (const CLI::CallForHelp&) {
    console.Write(absl::StrReplaceAll(app.help(), {{"\n\n\n", "\n\n"}}));
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    const std::string problem = PrintableName(ProblemWith(app, error), kMaxProblemBytes);
    *wrong_use = ::sluice::Error(ErrorCode::kValueSyntax).Text(problem);
    return WrongUse(console, problem, row.name);
  }
  console.set_quiet(common.quiet);
  return command.Run(console);
}

// Whether standard output must be one JSON document. Looks at the words themselves: the command line may be wrong.
bool WantsJson(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::Option* const option = app.get_option_no_throw("--json");
  if (option == nullptr) return false;
  const auto found = std::find(arguments.begin(), arguments.end(), "--json");
  const bool takes_file = option->get_items_expected_max() > 0;  // Then "-" is standard output.
  if (!takes_file) return found != arguments.end();
  const bool is_apart = found != arguments.end() && found + 1 != arguments.end() && *(found + 1) == "-";
  return is_apart || std::find(arguments.begin(), arguments.end(), "--json=-") != arguments.end();
}

// Runs one command. Every failure, exceptions and failed checks included, is an error with a code; with --json standard
// output has one document even then.
int RunCommand(Console& console, const CommandRow& row, const std::vector<std::string>& arguments) {
  const std::unique_ptr<Command> command = row.make();
  CLI::App app(std::string(row.summary), absl::StrCat("sluice ", row.name));
  CommonOptions common;
  command->Declare(app);
  DeclareCommon(row, app, &common);
  const bool wants_json = WantsJson(app, arguments);
  int exit_status = kExitFailed;
  absl::Status wrong_use;
  const absl::Status ended = AsStatus([&] {
    exit_status = ParseAndRun(console, row, arguments, common, app, *command, &wrong_use);
    return absl::OkStatus();
  });
  if (!ended.ok()) console.Problem(ended);
  if (!wants_json || exit_status == kExitOk || console.has_written()) return exit_status;
  if (exit_status == kExitUsage && wrong_use.ok() && console.problems().empty()) {  // The command found the wrong use.
    wrong_use = Error(ErrorCode::kValueSyntax).Text(absl::StrJoin(console.complaints(), "; "));
  }
  if (wrong_use.ok()) {
    console.Write(FailureDocument(row.name, console.problems(), console.complaints()));
  } else {
    console.Write(FailureDocument(row.name, {wrong_use}, {absl::StrCat("sluice ", row.name, " --help")}));
  }
  return exit_status;
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

// If a check fails on an unwatched thread, or a library aborts, ends with an error code and the exit status of a
// failure, not with a crash.
void OnAbort(int) {
  constexpr absl::string_view kText =
      "SLC9001 INTERNAL: an error inside of Sluice itself ended the program\n  see   sluice explain SLC9001\n";
  (void)WriteFully(STDERR_FILENO, kText);
  _exit(kExitFailed);
}

int Main(int argc, char** argv) {
  std::signal(SIGABRT, &OnAbort);
  std::signal(SIGPIPE, SIG_IGN);  // A write to a closed pipe then fails with EPIPE, which the console handles.
  Console console;
  int exit_status = kExitFailed;
  const absl::Status ended = AsStatus([&] {
    exit_status = Dispatch(console, std::vector<std::string>(argv + 1, argv + argc));
    return absl::OkStatus();
  });
  if (!ended.ok()) console.Problem(ended);
  if (const absl::Status flushed = console.Flush(); !flushed.ok()) {
    console.Problem(flushed);
    return kExitFailed;
  }
  return exit_status;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::Main(argc, argv); }
