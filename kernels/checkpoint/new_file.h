#ifndef SLUICE_KERNELS_CHECKPOINT_NEW_FILE_H_
#define SLUICE_KERNELS_CHECKPOINT_NEW_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// A file that is written under a temporary name beside its path, and renamed when complete, so that no reader sees a
// part of it. Without Commit it is gone with this object (a process that is killed leaves a file ".tmp" behind). One
// thread's at a time.
class NewFile {
 public:
  // The file at `path` is unchanged until Commit.
  static absl::StatusOr<std::unique_ptr<NewFile>> Create(const std::string& path);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  // After a failure only the destructor may be called.
  absl::Status Append(absl::string_view bytes);
  // Bytes appended so far.
  uint64_t size() const { return size_; }
  // Flushes all bytes to the disk and replaces the file at `path`.
  absl::Status Commit();

 private:
  NewFile(std::string path, std::string temporary, int descriptor);
  absl::Status Write(absl::string_view bytes);
  absl::Status Flush();

  const std::string path_, temporary_;
  int descriptor_;
  uint64_t size_ = 0;
  std::string waiting_;  // Small pieces, written together.
};

// Gives the file at `from` the additional name `to`, replacing a file there: links it if the file system can, else
// copies it.
absl::Status LinkOrCopyFile(const std::string& from, const std::string& to);

// Makes the directory that `path` lies in, unless it is there; not those above it, as TensorFlow's savers.
absl::Status MakeDirectoryOf(const std::string& path);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_NEW_FILE_H_
