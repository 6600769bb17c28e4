#include "kernels/checkpoint/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

constexpr size_t kWaitingBytes = 1 << 20;

// A name beside `path` that no other writer uses.
std::string TemporaryFor(const std::string& path) {
  static std::atomic<uint32_t> next_number{0};  // Relaxed: only needs to differ from call to call.
  return absl::StrCat(path, ".", ::getpid(), ".", next_number.fetch_add(1, std::memory_order_relaxed), ".tmp");
}

ErrorCode CodeFor(int error) {
  switch (error) {
    case ENOENT:
      return ErrorCode::kFileMissing;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
      return ErrorCode::kOutOfMemory;
    default:
      return ErrorCode::kFileWrite;
  }
}

}  // namespace

absl::Status FileError(int error, absl::string_view what, absl::string_view path) {
  return Error(CodeFor(error)).Text(absl::StrCat(what, " '", PrintableName(path, 1000), "': ", std::strerror(error)));
}

NewFile::NewFile(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

absl::StatusOr<std::unique_ptr<NewFile>> NewFile::Create(const std::string& path) {
  std::string temporary = TemporaryFor(path);
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return FileError(errno, "cannot write", path);
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
  const std::string temporary = TemporaryFor(to);
  if (::link(from.c_str(), temporary.c_str()) == 0) {
    const int failed = ::rename(temporary.c_str(), to.c_str()) != 0 ? errno : 0;
    ::unlink(temporary.c_str());  // Still there where `to` was this file already.
    if (failed != 0) return FileError(failed, "cannot write", to);
    SyncDirectoryOf(to);
    return absl::OkStatus();
  }
  if (errno == ENOENT) return FileError(ENOENT, "cannot link", from);
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

void SyncDirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace sluice
