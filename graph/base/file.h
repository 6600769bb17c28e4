#ifndef SLUICE_GRAPH_BASE_FILE_H_
#define SLUICE_GRAPH_BASE_FILE_H_

// Whole files in and out. Sizes are checked before anything is read; a written file appears as a whole or not at all.
// Errors (kFileMissing, kFileRead, kFileWrite, kLimitFileSize) name the file.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// The bytes of the file at `path`. Refuses a regular file above `max_bytes` before reading it, a pipe or a device as
// soon as it has given more.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes);

// All bytes that come from the open file `descriptor`, which stays open; refused as soon as they exceed `max_bytes`.
// `name` is for errors.
absl::StatusOr<std::string> ReadDescriptor(int descriptor, absl::string_view name, int64_t max_bytes);

// Reads standard input to its end.
absl::StatusOr<std::string> ReadStandardInput(int64_t max_bytes);

// Replaces the file at `path` by `bytes`: written to a new file beside it, synced, renamed. After a failure the old
// file is as it was. Links are followed and permissions kept; pipes and devices are written to directly.
absl::Status WriteFile(const std::string& path, absl::string_view bytes);

// A file's bytes in memory, read as they are touched. Shared: tensors that point into the bytes keep them.
// A file must not be shortened in place while it is mapped (replacing it, as WriteFile does, is fine): touching bytes
// that are gone ends the process.
// Thread-safety: immutable.
class MappedFile {
 public:
  // As ReadFile; files that cannot be mapped (pipes, devices, empty files) are read.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path, int64_t max_bytes);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  absl::string_view bytes() const { return bytes_; }

 private:
  MappedFile() = default;

  absl::string_view bytes_;
  bool is_mapped_ = false;
  std::string copy_;  // Unless mapped.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_FILE_H_
