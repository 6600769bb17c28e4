#ifndef SLUICE_GRAPH_BASE_TEMPORARY_FILE_H_
#define SLUICE_GRAPH_BASE_TEMPORARY_FILE_H_

// For replacing files as a whole: the new file is written beside the old one, synced, renamed.

#include <string>

#include "absl/functional/function_ref.h"

namespace sluice {

// Calls `make(name)`, which makes a file of that name or returns the errno, with names beside `path` until one is free:
// a killed process with the same number (containers reuse numbers) may have left files. Returns the last result.
int MakeTemporaryFile(const std::string& path, absl::FunctionRef<int(const std::string& name)> make);

// Makes changes of names in the directory of `path` survive a power cut, if the file system can.
void SyncDirectoryOf(const std::string& path);

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_TEMPORARY_FILE_H_
