#include "tests/tools/cli/train/train_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/tools/cli/run_sluice.h"

namespace sluice {
namespace {

constexpr char kProgram[] = "tools/cli/sluice";

}  // namespace

TrainProcess::TrainProcess(const std::vector<std::string>& arguments) : output_(MakeTestFile("train_output", "")) {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), kProgram);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  child_ = fork();
  if (child_ != 0) return;
  std::signal(SIGINT, SIG_DFL);
  const int file = ::open(output_.c_str(), O_WRONLY | O_TRUNC);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  ::execv(kProgram, argv.data());
  ::_exit(127);
}

TrainProcess::~TrainProcess() {
  if (!IsOver()) {
    Send(SIGKILL);
    Wait();
  }
}

void TrainProcess::Send(int signal) const { ::kill(child_, signal); }

int TrainProcess::Wait() {
  if (child_ > 0) {
    ::waitpid(child_, &status_, 0);
    child_ = -1;
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

bool TrainProcess::IsOver() {
  if (child_ > 0 && ::waitpid(child_, &status_, WNOHANG) == child_) child_ = -1;
  return child_ < 0;
}

std::string TrainProcess::Output() const { return ReadTestFile(output_); }

}  // namespace sluice
