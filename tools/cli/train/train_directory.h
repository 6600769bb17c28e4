#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_DIRECTORY_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_DIRECTORY_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sluice {

// The directory of one training; keeps other trainings out of it. One thread's.
//
// The file "training.lock" in it is locked (flock) for as long as this lives, and names the process and its machine.
// The system releases the lock when the process ends, even if it is killed, so that the next one can take over.
class TrainDirectory {
 public:
  // Makes the directory and missing ones above it, and locks it. kCannotRun if another process, which the error names,
  // trains in it; kFileWrite if it, or a file that a training writes, cannot be written.
  static absl::StatusOr<std::unique_ptr<TrainDirectory>> Open(const std::string& path);
  TrainDirectory(const TrainDirectory&) = delete;
  TrainDirectory& operator=(const TrainDirectory&) = delete;
  // Unlocks it. Unless Keep was called, removes what this training wrote into it, and the directories that Open made.
  ~TrainDirectory();

  // Keeps the written files.
  void Keep() { is_kept_ = true; }
  // The process that ended without unlocking it, for people: "process 4711 on 'host'"; or empty.
  const std::string& former() const { return former_; }

 private:
  explicit TrainDirectory(std::string path);
  absl::Status Make();
  absl::Status Lock();
  void RemoveWritten() const;
  std::string LockPath() const { return path_ + "/training.lock"; }

  const std::string path_;
  std::vector<std::string> made_;  // Directories, innermost first.
  std::set<std::string> before_;   // Paths of earlier files.
  std::string former_;
  int lock_ = -1;
  bool is_kept_ = false;
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_DIRECTORY_H_
