#ifndef SLUICE_TOOLS_CLI_OUTPUT_FILE_H_
#define SLUICE_TOOLS_CLI_OUTPUT_FILE_H_

// Checks before the work whether a command could write its output files in the end. Makes, changes and opens nothing:
// if the work fails, the files stay as they were. Errors are those of writing (kFileWrite), and name the obstacle.

#include <string>

#include "absl/status/status.h"

namespace sluice {

// For a file that WriteFile replaces. `path` may be empty (no file) or "-" (standard output).
absl::Status CheckOutputFile(const std::string& path);

// For a directory in which files are made; if missing, it is made with those above it.
absl::Status CheckOutputDirectory(const std::string& path);

// For the prefix of a checkpoint, whose directory, but none above it, is made if missing. May be empty.
absl::Status CheckOutputPrefix(const std::string& prefix);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_OUTPUT_FILE_H_
