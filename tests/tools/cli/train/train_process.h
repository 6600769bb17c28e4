#ifndef SLUICE_TESTS_TOOLS_CLI_TRAIN_TRAIN_PROCESS_H_
#define SLUICE_TESTS_TOOLS_CLI_TRAIN_TRAIN_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace sluice {

// The `sluice` program while it runs, for tests that interrupt it. Its streams go to a file. Killed, if it still runs,
// at the end.
class TrainProcess {
 public:
  explicit TrainProcess(const std::vector<std::string>& arguments);
  TrainProcess(const TrainProcess&) = delete;
  TrainProcess& operator=(const TrainProcess&) = delete;
  ~TrainProcess();

  void Send(int signal) const;
  // Waits for its end. Exit status, or 128 + the signal that ended it.
  int Wait();
  bool IsOver();
  // Its output so far.
  std::string Output() const;

 private:
  std::string output_;
  pid_t child_ = -1;
  int status_ = -1;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TOOLS_CLI_TRAIN_TRAIN_PROCESS_H_
