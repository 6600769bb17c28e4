// What all commands have in common: help, version, exit statuses, which stream gets what.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/cli/run_sluice.h"

namespace sluice {
namespace {

constexpr const char* kCommands[] = {"run",  "show",  "check", "convert", "bench",  "conform",
                                     "grad", "train", "ops",   "explain", "version"};

TEST(CommandLineTest, VersionIsOneLine) {
  const RunResult run = RunSluice({"--version"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, "sluice 0.1.0\n");
  EXPECT_EQ(run.err, "");
}

TEST(CommandLineTest, TheVersionCommandSaysHowItWasBuilt) {
  const nlohmann::json json = nlohmann::json::parse(RunSluice({"version", "--json"}).out);
  EXPECT_EQ(json["version"], "0.1.0");
  EXPECT_TRUE(json.contains("compiler"));
  EXPECT_GT(json["ops"], json["ops_that_run"]);
  EXPECT_GT(json["ops_that_run"], 100);
  EXPECT_TRUE(absl::StrContains(RunSluice({"version"}).out, "compiler"));
}

TEST(CommandLineTest, HelpListsTheCommandsThereAreAndNoOthers) {
  const RunResult run = RunSluice({"--help"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  for (const char* command : kCommands)
    EXPECT_TRUE(absl::StrContains(run.out, absl::StrCat("\n  ", command, " "))) << command;
  for (const char* command : {"worker", "serve"}) {
    EXPECT_FALSE(absl::StrContains(run.out, absl::StrCat("\n  ", command, " "))) << command;
  }
}

TEST(CommandLineTest, EachCommandHasHelpWithAnExample) {
  for (const char* command : kCommands) {
    for (const std::vector<std::string>& call : {std::vector<std::string>{command, "--help"}, {"help", command}}) {
      const RunResult run = RunSluice(call);
      EXPECT_EQ(run.status, 0) << command;
      EXPECT_EQ(run.err, "");
      EXPECT_TRUE(absl::StrContains(run.out, absl::StrCat("Example:\n  sluice ", command))) << run.out;
      EXPECT_TRUE(absl::StrContains(run.out, "--quiet"));
    }
  }
}

TEST(CommandLineTest, WrongUseIsStatusTwoAndTheReasonOnStandardError) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> calls = {
      {{"shows", "x"}, "there is no command 'shows'; did you mean 'show'?"},
      {{"draw", "x"}, "there are run, show, check, convert"},
      {{"--nope"}, "unknown option '--nope'"},
      {{"show"}, "MODEL is required"},
      {{"show", "a", "b"}, "not expected"},
      {{"show", "x", "--depth", "many"}, "--depth"},
      {{"convert", "a", "b", "--text", "--binary"}, "excludes"},
      {{"check", "--max-nodes", "-1", "x"}, "--max-nodes"},
      {{"check", "--max-nesting", "101", "x"}, "--max-nesting"},
      {{"check", "--max-call-depth", "257", "x"}, "--max-call-depth"},
      {{"run", "--max-frame-depth", "many", "x"}, "--max-frame-depth"},
      {{"run", "--max-parallel-iterations", "0", "x"}, "--max-parallel-iterations"},
  };
  for (const auto& [call, reason] : calls) {
    const RunResult run = RunSluice(call);
    EXPECT_EQ(run.status, 2) << call[0];
    EXPECT_EQ(run.out, "") << call[0];
    EXPECT_TRUE(absl::StrContains(run.err, reason)) << run.err;
    EXPECT_TRUE(absl::StrContains(run.err, "--help'")) << run.err;
  }
}

// Before what else is wrong with the command line, and before the model is looked at.
TEST(CommandLineTest, AnUnknownOptionIsTheFirstErrorAndComesWithAGuess) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> calls = {
      {{"run", "nowhere.pb", "--fech", "x"}, "unknown option '--fech' (did you mean --fetch?)"},
      {{"run", "nowhere.pb", "--fech=x", "--steps", "0"}, "unknown option '--fech' (did you mean --fetch?)"},
      {{"run", "--fech", "x"}, "unknown option '--fech' (did you mean --fetch?)"},
      {{"run", "nowhere.pb", "--fech", "x", "--feed"}, "unknown option '--fech' (did you mean --fetch?)"},
      {{"run", "nowhere.pb", "-fetch", "x"}, "unknown option '-fetch' (did you mean --fetch?)"},
      {{"bench", "nowhere.pb", "--determ"}, "unknown option '--determ' (did you mean --deterministic?)"},
      {{"show", "--jsn"}, "unknown option '--jsn' (did you mean --json?)"},
      {{"check", "nowhere.pb", "--graphonly"}, "unknown option '--graphonly' (did you mean --graph-only?)"},
      {{"convert", "a.pb", "b.pb", "--freze"}, "unknown option '--freze' (did you mean --freeze?)"},
      {{"grad", "a.pb", "--o", "b.pb"}, "unknown option '--o' (did you mean -o?)"},
      {{"train", "a.pb", "--los", "l"}, "unknown option '--los' (did you mean --loss?)"},
      {{"conform", "d", "--job", "2"}, "unknown option '--job' (did you mean --jobs?)"},
      {{"ops", "--mising"}, "unknown option '--mising' (did you mean --missing?)"},
      {{"explain", "--jso"}, "unknown option '--jso' (did you mean --json?)"},
      {{"version", "--jsno"}, "unknown option '--jsno' (did you mean --json?)"},
      {{"version", "--quite", "-x"}, "unknown option '--quite' (did you mean --quiet?), unknown option '-x'"},
      {{"--versoin"}, "unknown option '--versoin' (did you mean --version?)"},
  };
  for (const auto& [call, reason] : calls) {
    const RunResult run = RunSluice(call);
    EXPECT_EQ(run.status, 2) << call[0];
    const std::string name = call.size() == 1 ? "sluice" : absl::StrCat("sluice ", call[0]);
    EXPECT_EQ(run.err, absl::StrCat(name, ": ", reason, "\nTry '", name, " --help'.\n"));
  }
  const RunResult json = RunSluice({"run", "nowhere.pb", "--fech", "x", "--json"});
  const std::string message = nlohmann::json::parse(json.out)["errors"][0]["message"];
  EXPECT_TRUE(absl::StrContains(message, "did you mean --fetch?")) << message;
}

TEST(CommandLineTest, WordsTooManyAreNamedInTheirOrder) {
  const std::string err = RunSluice({"show", "a", "b", "-3", "c"}).err;
  EXPECT_TRUE(absl::StrContains(err, "not expected: b -3 c\n")) << err;
}

TEST(CommandLineTest, AJsonFileLeavesStandardOutputToPeople) {
  const std::string file = TestFile("results.json");
  EXPECT_EQ(RunSluice({"conform", "--json", file, TestFile("nothing")}).out, "");
  EXPECT_TRUE(absl::StrContains(RunSluice({"conform", "--json", "-", TestFile("nothing")}).out, "\"errors\""));
  EXPECT_TRUE(absl::StrContains(RunSluice({"conform", "--json=-", TestFile("nothing")}).out, "\"errors\""));
}

TEST(CommandLineTest, NothingIsWrongUseAndGivesTheHelp) {
  const RunResult run = RunSluice({});
  EXPECT_EQ(run.status, 2);
  EXPECT_TRUE(absl::StrContains(run.out, "Commands:"));
}

TEST(CommandLineTest, NoColoursWithoutATerminal) {
  for (const RunResult& run :
       {RunSluice({"--help"}), RunSluice({"explain", "2103"}), RunSluice({"show", "nowhere.pb"})}) {
    EXPECT_FALSE(absl::StrContains(run.out + run.err, "\x1b"));
  }
}

TEST(CommandLineTest, AReaderThatGoesAwayIsNoFailure) {
  const RunResult run = RunSluiceInto({"explain", "--json"}, "head -c 10");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out.size(), 10u);
}

TEST(CommandLineTest, OutputThatCannotBeWrittenIsAFailure) {
  const RunResult run = RunSluiceTo({"explain"}, "/dev/full");
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.err, "SLC1009")) << run.err;
}

TEST(ExplainTest, ACodeMayBeWrittenInThreeWays) {
  const std::string out = RunSluice({"explain", "SLC2103"}).out;
  EXPECT_TRUE(absl::StrContains(out, "SLC2103 INVALID_ARGUMENT"));
  EXPECT_TRUE(absl::StrContains(out, "cause"));
  EXPECT_EQ(RunSluice({"explain", "2103"}).out, out);
  EXPECT_EQ(RunSluice({"explain", "slc2103"}).out, out);
}

TEST(ExplainTest, WithoutACodeAllAreListed) {
  const RunResult run = RunSluice({"explain"});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(absl::StrContains(run.out, "SLC1001"));
  EXPECT_TRUE(absl::StrContains(run.out, "SLC9001"));
  const nlohmann::json json = nlohmann::json::parse(RunSluice({"explain", "--json"}).out);
  const std::vector<std::string> lines = absl::StrSplit(run.out, '\n', absl::SkipEmpty());
  EXPECT_EQ(json.size(), lines.size());
  for (const char* field : {"code", "canonical", "title", "cause", "example", "fix"})
    EXPECT_TRUE(json[0].contains(field));
}

TEST(ExplainTest, UnknownCodesNameTheirNeighbours) {
  const RunResult run = RunSluice({"explain", "SLC2109"});
  EXPECT_EQ(run.status, 2);
  EXPECT_TRUE(absl::StrContains(run.err, "SLC2107")) << run.err;
  EXPECT_TRUE(absl::StrContains(RunSluice({"explain", "banana"}).err, "codes look like SLC"));
}

}  // namespace
}  // namespace sluice
