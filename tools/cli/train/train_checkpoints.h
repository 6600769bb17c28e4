#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_CHECKPOINTS_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_CHECKPOINTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/session/session.h"

namespace sluice {

// The checkpoints of one training: "model.ckpt-400" and so on in one directory, as TensorFlow writes them, each with
// its graph ("model.ckpt-400.meta"), and the file "checkpoint", which names those that are kept. At any moment that
// file names only complete checkpoints, even if the process is killed. One thread's at a time.
class TrainCheckpoints {
 public:
  // Finds existing checkpoints; makes a missing directory. `meta_graph` is written beside each checkpoint.
  static absl::StatusOr<TrainCheckpoints> Open(const std::string& directory, int64_t keep, std::string meta_graph);

  void set_meta_graph(std::string meta_graph) { meta_graph_ = std::move(meta_graph); }
  // The prefix of the newest one, or empty.
  const std::string& newest() const { return newest_; }
  // Writes one, makes it the newest, and removes the oldest beyond `keep`.
  absl::Status Save(int64_t step, const NamedTensors& tensors);

 private:
  TrainCheckpoints(std::string directory, int64_t keep, std::string meta_graph)
      : directory_(std::move(directory)), keep_(static_cast<size_t>(keep)), meta_graph_(std::move(meta_graph)) {}

  std::string directory_;
  size_t keep_;
  std::string meta_graph_;
  std::string newest_;
  std::vector<std::string> all_;  // Oldest first.
};

// All tensors of the checkpoint at `prefix`, but for those stored in pieces. The errors of BundleIndex and
// BundleReader.
absl::StatusOr<NamedTensors> ReadCheckpoint(const std::string& prefix);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_CHECKPOINTS_H_
