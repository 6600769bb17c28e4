#include "tools/cli/train/train_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/cli/console/console.h"
#include "tools/cli/train/event_file.h"
#include "tools/cli/train/leftover_files.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPathBytes = 1000;

// The process that holds, or held, a lock.
struct Holder {
  int64_t process = 0;  // 0: none.
  std::string host;

  std::string ToString() const { return absl::StrCat("process ", process, " on '", PrintableName(host), "'"); }
};

Holder ReadHolder(int file) {
  char text[512];
  const ssize_t size = ::pread(file, text, sizeof(text), 0);
  Holder holder;
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::string_view(text, size > 0 ? static_cast<size_t>(size) : 0), absl::ByAnyChar(" \n"));
  if (words.size() < 2 || !absl::SimpleAtoi(words[0], &holder.process) || holder.process <= 0) return Holder();
  holder.host = std::string(words[1]);
  return holder;
}

absl::Status InUse(const std::string& lock_path, const Holder& holder) {
  return Error(ErrorCode::kCannotRun)
      .Help("wait for its end, stop it, or name another --out directory")
      .Text(absl::StrCat(
          "another training runs in this directory: ", holder.process > 0 ? holder.ToString() : "a process",
          " has locked '", PrintableName(lock_path, kMaxPathBytes), "'"));
}

absl::Status CannotWrite(const std::string& path, int error) {
  return Error(ErrorCode::kFileWrite)
      .Text(absl::StrCat("cannot write '", PrintableName(path, kMaxPathBytes), "': ", std::strerror(error)));
}

// kFileWrite where something else than a file (S_IFREG), or a directory (S_IFDIR), is at `path`.
absl::Status CheckKind(const std::string& path, mode_t kind) {
  struct stat there;
  if (::stat(path.c_str(), &there) != 0 || (there.st_mode & S_IFMT) == kind) return absl::OkStatus();
  return CannotWrite(path, kind == S_IFREG ? EISDIR : ENOTDIR);
}

// Whether the open file is the one at `path`, which its former holder may have removed.
bool IsStillAt(int file, const std::string& path) {
  struct stat opened, there;
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &there) == 0 && opened.st_dev == there.st_dev &&
         opened.st_ino == there.st_ino;
}

// Calls `visit(path)` for each file of a training, and each event file, in `directory`.
template <typename Visit>
void ForEachWritten(const std::string& directory, Visit visit) {
  std::error_code failed;
  for (const char* const part : {"", "/train", "/validation"}) {
    for (fs::directory_iterator it(directory + part, failed), end; !failed && it != end; it.increment(failed)) {
      const std::string name = it->path().filename().string();
      const bool is_written = *part == 0 ? IsTrainingFile(name) || MakerOfTemporary(name) == ::getpid()
                                         : absl::StartsWith(name, "events.out.tfevents.");
      if (is_written) visit(absl::StrCat(directory, part, "/", name));
    }
    failed.clear();
  }
}

}  // namespace

TrainDirectory::TrainDirectory(std::string path) : path_(std::move(path)) {}

absl::StatusOr<std::unique_ptr<TrainDirectory>> TrainDirectory::Open(const std::string& path) {
  std::unique_ptr<TrainDirectory> directory(new TrainDirectory(path));
  SLUICE_RETURN_IF_ERROR(directory->Make());
  SLUICE_RETURN_IF_ERROR(directory->Lock());
  ForEachWritten(path, [&](const std::string& file) { directory->before_.insert(file); });
  for (const char* const name : {"checkpoint", "loss.csv", "loss.svg"}) {
    SLUICE_RETURN_IF_ERROR(CheckKind(absl::StrCat(path, "/", name), S_IFREG));
  }
  for (const char* const name : {"train", "validation"}) {
    SLUICE_RETURN_IF_ERROR(CheckKind(absl::StrCat(path, "/", name), S_IFDIR));
  }
  return directory;
}

absl::Status TrainDirectory::Make() {
  std::error_code failed;
  for (fs::path missing(path_); !missing.empty() && !fs::exists(missing, failed); missing = missing.parent_path()) {
    if (missing.has_filename()) made_.push_back(missing.string());  // "out/" is "out".
  }
  fs::create_directories(path_, failed);
  if (!failed) return absl::OkStatus();
  return Error(ErrorCode::kFileWrite)
      .Text(absl::StrCat("cannot write '", PrintableName(path_, kMaxPathBytes),
                         "': the directory cannot be made: ", failed.message()));
}

absl::Status TrainDirectory::Lock() {
  const std::string path = LockPath();
  bool is_certain = true;  // False on file systems without locks: only the file's text says who holds it.
  do {
    if (lock_ >= 0) ::close(lock_);
    lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) return CannotWrite(path, errno);
    is_certain = ::flock(lock_, LOCK_EX | LOCK_NB) == 0;
    if (!is_certain && errno == EWOULDBLOCK) {
      const Holder holder = ReadHolder(lock_);
      ::close(std::exchange(lock_, -1));
      return InUse(path, holder);
    }
  } while (!IsStillAt(lock_, path));
  const Holder former = ReadHolder(lock_);
  const bool may_be_there =
      former.process > 0 && !is_certain && (former.host != HostName() || MayBeAlive(former.process));
  if (may_be_there) {
    ::close(std::exchange(lock_, -1));
    return InUse(path, former);
  }
  if (former.process > 0) former_ = former.ToString();
  const int error =
      ::ftruncate(lock_, 0) != 0 ? errno : WriteFully(lock_, absl::StrCat(::getpid(), " ", HostName(), "\n"));
  return error == 0 ? absl::OkStatus() : CannotWrite(path, error);
}

void TrainDirectory::RemoveWritten() const {
  std::error_code ignored;
  std::vector<std::string> written;
  ForEachWritten(path_, [&](const std::string& file) {
    if (before_.count(file) == 0) written.push_back(file);
  });
  for (const std::string& file : written) fs::remove(file, ignored);
  for (const char* const part : {"/train", "/validation"}) ::rmdir((path_ + part).c_str());  // If they are empty.
}

TrainDirectory::~TrainDirectory() {
  if (lock_ >= 0) {
    if (!is_kept_) RemoveWritten();
    ::unlink(LockPath().c_str());
    ::close(lock_);
  }
  for (const std::string& made : made_) {
    if (!is_kept_) ::rmdir(made.c_str());
  }
}

}  // namespace sluice
