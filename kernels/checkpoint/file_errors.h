#ifndef SLUICE_KERNELS_CHECKPOINT_FILE_ERRORS_H_
#define SLUICE_KERNELS_CHECKPOINT_FILE_ERRORS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

// The status for an `errno` of a call about the file at `path`: NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED (the
// disk is full), FAILED_PRECONDITION for the rest.
absl::Status FileError(int error, absl::string_view what, absl::string_view path);
// kCheckpointMissing, at `path`: a file of a checkpoint is missing.
absl::Status MissingFile(absl::string_view path);
// kFileRead, at `path`: there is something that is neither a file nor a directory. To open a pipe would be to wait for
// its writer.
absl::Status NotPlainFile(absl::string_view path);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_FILE_ERRORS_H_
