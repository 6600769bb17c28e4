#ifndef SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_PATH_H_
#define SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_PATH_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sluice {

// kFileRead if `path` has the name of a checkpoint's index or data but is neither a file nor a directory: opening a
// pipe would wait for its writer.
absl::Status CheckPlainFile(const std::string& path);

// The prefix of the checkpoint that `path` means, or nothing: a prefix, one of its files, a directory of checkpoints
// (the newest one that its file `checkpoint` names, else the only one in it), or the directory of variables of a
// SavedModel. With `of_model` also a SavedModel itself, which otherwise is a model. Errors if a checkpoint is meant and
// cannot be found: kCheckpointMissing (data without an index; several checkpoints to choose from), kFileRead,
// kFileText.
absl::StatusOr<std::optional<std::string>> FindCheckpoint(const std::string& path, bool of_model);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_PATH_H_
