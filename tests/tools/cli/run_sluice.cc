#include "tests/tools/cli/run_sluice.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graph/base/file.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr absl::string_view kProgram = "tools/cli/sluice";
constexpr int64_t kMaxOutput = int64_t{1} << 28;

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string CommandLine(const std::vector<std::string>& arguments) {
  return absl::StrCat(kProgram, " ", absl::StrJoin(arguments, " ", [](std::string* out, const std::string& argument) {
                        absl::StrAppend(out, Quoted(argument));
                      }));
}

int ExitStatus(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace

std::string TestFile(const std::string& name) { return absl::StrCat(::testing::TempDir(), "/", ::getpid(), "_", name); }

std::string MakeTestFile(const std::string& name, absl::string_view bytes) {
  EXPECT_OK(WriteFile(TestFile(name), bytes));
  return TestFile(name);
}

std::string ReadTestFile(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path, kMaxOutput);
  EXPECT_OK(bytes);
  return bytes.ok() ? *std::move(bytes) : "";
}

RunResult RunSluice(const std::vector<std::string>& arguments, absl::string_view input) {
  const std::string in = MakeTestFile("stdin", input), out = TestFile("stdout"), err = TestFile("stderr");
  const std::string line =
      absl::StrCat(CommandLine(arguments), " <", Quoted(in), " >", Quoted(out), " 2>", Quoted(err));
  RunResult result;
  result.status = ExitStatus(std::system(line.c_str()));
  result.out = ReadTestFile(out);
  result.err = ReadTestFile(err);
  return result;
}

RunResult RunSluiceUntil(const std::vector<std::string>& arguments, absl::string_view input, absl::string_view text,
                         int signal) {
  const std::string in = MakeTestFile("stdin", input), out = TestFile("stdout"), err = MakeTestFile("stderr", "");
  // The shell becomes the program: the signal reaches it alone.
  const std::string line =
      absl::StrCat("exec ", CommandLine(arguments), " <", Quoted(in), " >", Quoted(out), " 2>", Quoted(err));
  const pid_t child = fork();
  if (child == 0) {
    std::signal(signal, SIG_DFL);
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  bool is_over = false;
  while (!is_over && !absl::StrContains(ReadTestFile(err), text)) {
    is_over = waitpid(child, &status, WNOHANG) == child;
    usleep(1000);
  }
  if (!is_over) {
    kill(child, signal);
    waitpid(child, &status, 0);
  }
  return {ExitStatus(status), ReadTestFile(out), ReadTestFile(err)};
}

RunResult RunSluiceTo(const std::vector<std::string>& arguments, const std::string& path) {
  const std::string err = TestFile("stderr");
  RunResult result;
  result.status = ExitStatus(std::system(absl::StrCat(CommandLine(arguments), " >", path, " 2>", Quoted(err)).c_str()));
  result.err = ReadTestFile(err);
  return result;
}

RunResult RunSluiceInto(const std::vector<std::string>& arguments, const std::string& command) {
  const std::string out = TestFile("stdout"), err = TestFile("stderr"), status = TestFile("status");
  const std::string line = absl::StrCat("{ ", CommandLine(arguments), " 2>", Quoted(err), "; echo $? >", Quoted(status),
                                        "; } | ", command, " >", Quoted(out));
  RunResult result;
  EXPECT_EQ(ExitStatus(std::system(line.c_str())), 0);
  result.status = std::atoi(ReadTestFile(status).c_str());
  result.out = ReadTestFile(out);
  result.err = ReadTestFile(err);
  return result;
}

}  // namespace sluice
