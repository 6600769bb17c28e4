#ifndef SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_PATH_H_
#define SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_PATH_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sluice {

// kFileRead where `path` is named as an index or the data of a checkpoint and there is something that is neither a
// file nor a directory: to open a pipe would be to wait for its writer.
absl::Status CheckPlainFile(const std::string& path);

// The prefix of the checkpoint that `path` means, or nothing: a prefix, one of its files, a directory of checkpoints
// (the newest one that its file `checkpoint` names, else the only one in it), or the directory of variables of a
// SavedModel. With `of_model` also a SavedModel itself, which otherwise is a model. Errors where a checkpoint is meant
// and cannot be found: kCheckpointMissing (data without an index; several checkpoints and nothing that says which),
// kFileRead, kFileText.
absl::StatusOr<std::optional<std::string>> FindCheckpoint(const std::string& path, bool of_model);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_PATH_H_
