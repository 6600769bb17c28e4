#ifndef SLUICE_KERNELS_IO_GLOB_H_
#define SLUICE_KERNELS_IO_GLOB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// The files and directories whose paths match `pattern` (*, ?, [...] and \ within one name), in order. A pattern
// without any of these is a path, there or not. As in TensorFlow, those that begin with a wildcard are answered with
// "./" in front, and names that begin with a dot match. RESOURCE_EXHAUSTED beyond a million.
absl::StatusOr<std::vector<std::string>> FilesMatching(absl::string_view pattern);

// The path that a name of TensorFlow's stands for: "file:///tmp/x" is /tmp/x. UNIMPLEMENTED for names of file systems
// that are not here ("s3://..."), INVALID_ARGUMENT where it holds a zero byte.
absl::StatusOr<std::string> LocalPath(absl::string_view name);

}  // namespace sluice

#endif  // SLUICE_KERNELS_IO_GLOB_H_
