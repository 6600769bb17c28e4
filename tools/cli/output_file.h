#ifndef SLUICE_TOOLS_CLI_OUTPUT_FILE_H_
#define SLUICE_TOOLS_CLI_OUTPUT_FILE_H_

// What the command line alone tells of files that a command is to write in the end: whether the work would be lost.
// Nothing is made, changed or opened: the work may still fail, and the files are to be as they were then. Errors are
// those that writing would give (kFileWrite), and name what is in the way.

#include <string>

#include "absl/status/status.h"

namespace sluice {

// For a file that WriteFile replaces. `path` may be empty (there is none) or "-" (standard output).
absl::Status CheckOutputFile(const std::string& path);

// For a directory that is made, with those above it, unless it is there, and in which files are made then.
absl::Status CheckOutputDirectory(const std::string& path);

// For the prefix of a checkpoint, whose directory, but none above it, is made unless it is there. May be empty.
absl::Status CheckOutputPrefix(const std::string& prefix);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_OUTPUT_FILE_H_
