#include "kernels/checkpoint/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/base/temporary_file.h"
#include "kernels/checkpoint/file_errors.h"

namespace sluice {
namespace {

constexpr size_t kWaitingBytes = 1 << 20;

}  // namespace

NewFile::NewFile(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

absl::StatusOr<std::unique_ptr<NewFile>> NewFile::Create(const std::string& path) {
  std::string temporary;
  int descriptor = -1;
  const int error = MakeTemporaryFile(path, [&](const std::string& name) {
    descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const int failed = descriptor < 0 ? errno : 0;
    temporary = name;
    return failed;
  });
  if (error != 0) return FileError(error, "cannot write", path);
  return std::unique_ptr<NewFile>(new NewFile(path, std::move(temporary), descriptor));
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

absl::Status NewFile::Append(absl::string_view bytes) {
  size_ += bytes.size();
  if (waiting_.size() + bytes.size() < kWaitingBytes) {
    waiting_.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  SLUICE_RETURN_IF_ERROR(Flush());
  return Write(bytes);
}

absl::Status NewFile::Flush() {
  SLUICE_RETURN_IF_ERROR(Write(waiting_));
  waiting_.clear();
  return absl::OkStatus();
}

absl::Status NewFile::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), std::min(bytes.size(), size_t{1} << 30));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, "cannot write", path_);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status NewFile::Commit() {
  SLUICE_RETURN_IF_ERROR(Flush());
  if (::fsync(descriptor_) != 0) return FileError(errno, "cannot write", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return FileError(errno, "cannot write", path_);
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) return FileError(errno, "cannot write", path_);
  SyncDirectoryOf(path_);
  return absl::OkStatus();
}

absl::Status LinkOrCopyFile(const std::string& from, const std::string& to) {
  std::string temporary;
  const int unlinked = MakeTemporaryFile(to, [&](const std::string& name) {
    temporary = name;
    return ::link(from.c_str(), temporary.c_str()) == 0 ? 0 : errno;
  });
  if (unlinked == 0) {
    const int failed = ::rename(temporary.c_str(), to.c_str()) != 0 ? errno : 0;
    ::unlink(temporary.c_str());  // Still there where `to` was this file already.
    if (failed != 0) return FileError(failed, "cannot write", to);
    SyncDirectoryOf(to);
    return absl::OkStatus();
  }
  if (unlinked == ENOENT) return FileError(ENOENT, "cannot link", from);
  const int source = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) return FileError(errno, "cannot read", from);
  absl::StatusOr<std::unique_ptr<NewFile>> copy = NewFile::Create(to);
  absl::Status status = copy.status();
  std::string bytes(kWaitingBytes, '\0');
  while (status.ok()) {
    const ssize_t count = ::read(source, &bytes[0], bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) status = FileError(errno, "cannot read", from);
    if (count <= 0) break;
    status = (*copy)->Append(absl::string_view(bytes.data(), static_cast<size_t>(count)));
  }
  ::close(source);
  return status.ok() ? (*copy)->Commit() : status;
}

absl::Status MakeDirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return absl::OkStatus();
  const std::string directory = path.substr(0, slash);
  if (::mkdir(directory.c_str(), 0777) == 0 || errno == EEXIST) return absl::OkStatus();
  return FileError(errno, "cannot make the directory of", path);
}

}  // namespace sluice
