#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_DIRECTORY_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_DIRECTORY_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sluice {

// The directory of one training, which no other process trains in meanwhile. One thread's.
//
// The file "training.lock" in it is locked (flock) for as long as this lives, and names the process and its machine.
// The system gives the lock back when the process ends, however it ends: what a killed one left behind is taken over.
class TrainDirectory {
 public:
  // Makes the directory, and those above it, where they are missing, and locks it. kCannotRun where another process
  // trains in it, which the error names; kFileWrite where it, or a file that a training writes, cannot be written.
  static absl::StatusOr<std::unique_ptr<TrainDirectory>> Open(const std::string& path);
  TrainDirectory(const TrainDirectory&) = delete;
  TrainDirectory& operator=(const TrainDirectory&) = delete;
  // Unlocks it. Unless Keep was called, removes what this training wrote into it, and the directories that Open made.
  ~TrainDirectory();

  // What is written stays.
  void Keep() { is_kept_ = true; }
  // The process that ended without unlocking it, for people: "process 4711 on 'host'"; empty: there was none.
  const std::string& former() const { return former_; }

 private:
  explicit TrainDirectory(std::string path);
  absl::Status Make();
  absl::Status Lock();
  void RemoveWritten() const;
  std::string LockPath() const { return path_ + "/training.lock"; }

  const std::string path_;
  std::vector<std::string> made_;  // Directories, innermost first.
  std::set<std::string> before_;   // Files that were there, as paths.
  std::string former_;
  int lock_ = -1;
  bool is_kept_ = false;
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_DIRECTORY_H_
