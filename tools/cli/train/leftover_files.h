#ifndef SLUICE_TOOLS_CLI_TRAIN_LEFTOVER_FILES_H_
#define SLUICE_TOOLS_CLI_TRAIN_LEFTOVER_FILES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// The process that made the file `name` on the way to one of the files of a training ("loss.csv.4711.0.tmp": see
// MakeTemporaryFile); 0 for names that trainings do not make.
int64_t MakerOfTemporary(absl::string_view name);

// Whether a training writes a file of this name into its directory.
bool IsTrainingFile(absl::string_view name);

// False only where there is certainly no such process on this machine.
bool MayBeAlive(int64_t process);

// Removes such files from `directory` where their makers are gone: killed, they could not do it. What has the number of
// this process is of an earlier one (in containers all have few), so that none of this process may be there yet. What
// cannot be removed stays.
void RemoveLeftovers(const std::string& directory);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_LEFTOVER_FILES_H_
