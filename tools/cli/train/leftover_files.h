#ifndef SLUICE_TOOLS_CLI_TRAIN_LEFTOVER_FILES_H_
#define SLUICE_TOOLS_CLI_TRAIN_LEFTOVER_FILES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// Returns the process that made `name`, a temporary file of a training ("loss.csv.4711.0.tmp": see MakeTemporaryFile);
// 0 for other names.
int64_t MakerOfTemporary(absl::string_view name);

// Whether a training writes a file of this name into its directory.
bool IsTrainingFile(absl::string_view name);

// False only where there is certainly no such process on this machine.
bool MayBeAlive(int64_t process);

// Removes such files from `directory` if their makers were killed. Files with this process's number count as an earlier
// one's (containers reuse numbers), so call it before making any. Ignores files that cannot be removed.
void RemoveLeftovers(const std::string& directory);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_LEFTOVER_FILES_H_
