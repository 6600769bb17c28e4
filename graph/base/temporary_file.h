#ifndef SLUICE_GRAPH_BASE_TEMPORARY_FILE_H_
#define SLUICE_GRAPH_BASE_TEMPORARY_FILE_H_

// For those who replace files as a whole: a new one is written beside the old, synced, renamed.

#include <string>

#include "absl/functional/function_ref.h"

namespace sluice {

// Calls `make(name)`, which makes a file of that name or answers the errno of what failed, with names beside `path`
// until there is one that no file has: a process that was killed may have left some, and this one may have its number
// (in containers all have few). The last answer.
int MakeTemporaryFile(const std::string& path, absl::FunctionRef<int(const std::string& name)> make);

// Makes names that were added to or taken from the directory of `path` survive a power cut, where the file system can.
void SyncDirectoryOf(const std::string& path);

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_TEMPORARY_FILE_H_
