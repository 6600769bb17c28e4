#ifndef SLUICE_KERNELS_STEP_FILE_ACCESS_H_
#define SLUICE_KERNELS_STEP_FILE_ACCESS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

// Note [Files are granted]
// A model is a program that somebody else may have written, and ops such as WriteFile or SaveV2 do what it says. So no
// op touches a file that the host of the session has not granted: kPathEscape (PERMISSION_DENIED), naming node and
// path. OpenSavedModel grants reading below the model's directory; everything else is granted by SessionOptions::files.
// A link leads where it leads for reading, as models in caches are made of links; what is written must lie in a granted
// directory, links followed.

// Which files the ops of a session may read and write: none, until directories are granted. Paths are kept as they mean
// now: a process may change its directory later. A value type.
class FileAccess {
 public:
  // All files that the process can reach: for models that the host trusts.
  static FileAccess All();

  // Grants what is in and below `directory`, to be read; to be written and read.
  FileAccess& Read(absl::string_view directory);
  FileAccess& Write(absl::string_view directory);
  // Grants what `other` grants, too.
  FileAccess& Add(const FileAccess& other);

  // kPathEscape unless the file at `path` may be read, or written.
  absl::Status CheckRead(const std::string& path) const;
  absl::Status CheckWrite(const std::string& path) const;

 private:
  bool has_all_ = false;
  // Absolute, without "." and "..": as the host wrote them, and where links lead.
  std::vector<std::string> readable_, writable_;
};

// The same for a session's, or of none: a run that has no session has no files.
class SessionState;
absl::Status CheckFileRead(const SessionState* session, const std::string& path);
absl::Status CheckFileWrite(const SessionState* session, const std::string& path);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STEP_FILE_ACCESS_H_
