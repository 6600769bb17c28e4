#ifndef SLUICE_KERNELS_CHECKPOINT_CHECKPOINT_STATE_H_
#define SLUICE_KERNELS_CHECKPOINT_CHECKPOINT_STATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sluice {

// The contents of a directory's file `checkpoint`, a CheckpointState in text form: the checkpoints there, oldest first.
// Prefixes as paths that can be opened.
struct CheckpointState {
  std::string newest;
  std::vector<std::string> all;
};

// kCheckpointMissing where the directory has no such file or the file names no checkpoint, kFileText.
absl::StatusOr<CheckpointState> ReadCheckpointState(const std::string& directory);

// Writes that file, replacing an older one. Prefixes below `directory` are named relative to it, so that the directory
// may be moved.
absl::Status WriteCheckpointState(const std::string& directory, const CheckpointState& state);

// Makes the checkpoint at `prefix` the newest of its directory; the file is replaced as a whole. Five are listed.
absl::Status AddToCheckpointState(const std::string& prefix);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_CHECKPOINT_STATE_H_
