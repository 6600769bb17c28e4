#include "graph/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/file_pages.h"
#include "graph/base/status_macros.h"
#include "graph/base/temporary_file.h"

namespace sluice {
namespace {

// An open file. Closes it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // Closes now, and returns success: some file systems report a failed write here only.
  bool Close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

std::string ReasonOf(int error) { return std::strerror(error); }

std::string Quoted(absl::string_view name) { return absl::StrCat("'", PrintableName(name), "'"); }

absl::Status ReadError(absl::string_view name, absl::string_view reason) {
  return WithFile(Error(ErrorCode::kFileRead).Text(absl::StrCat("cannot read ", Quoted(name), ": ", reason)), name);
}

absl::Status WriteError(absl::string_view name, absl::string_view reason) {
  return WithFile(Error(ErrorCode::kFileWrite).Text(absl::StrCat("cannot write ", Quoted(name), ": ", reason)), name);
}

// `size` < 0: only known to be too much.
absl::Status TooLargeError(absl::string_view name, int64_t size, int64_t max_bytes) {
  return WithFile(Error(ErrorCode::kLimitFileSize)
                      .Found(size < 0 ? absl::StrCat("more than ", max_bytes, " bytes") : absl::StrCat(size, " bytes"))
                      .Expected(absl::StrCat("at most ", max_bytes, " bytes"))
                      .Limit("max_file_bytes", max_bytes)
                      .Help("a protobuf message holds 2 GiB - 1 at most: keep large constants in a checkpoint")
                      .Text(absl::StrCat(Quoted(name), " is too large")),
                  name);
}

// An open file and its facts.
struct OpenFile {
  Descriptor descriptor;
  struct stat facts;
};

// Opens `path` for reading. Directories and regular files above `max_bytes` are refused.
absl::StatusOr<OpenFile> OpenForReading(const std::string& path, int64_t max_bytes) {
  OpenFile file{Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), {}};
  if (!file.descriptor.ok()) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      return WithFile(Error(ErrorCode::kFileMissing).Text(absl::StrCat("there is no file ", Quoted(path))), path);
    }
    return ReadError(path, ReasonOf(error));
  }
  if (::fstat(file.descriptor.get(), &file.facts) != 0) return ReadError(path, ReasonOf(errno));
  if (S_ISDIR(file.facts.st_mode)) return ReadError(path, "it is a directory");
  if (S_ISREG(file.facts.st_mode) && file.facts.st_size > max_bytes) {
    return TooLargeError(path, file.facts.st_size, max_bytes);
  }
  return file;
}

// Reads up to `size` bytes into `out`; fewer at the end of the file. -1 and errno on failure.
ssize_t ReadSome(int fd, char* out, size_t size) {
  ssize_t count;
  do {
    count = ::read(fd, out, size);
  } while (count < 0 && errno == EINTR);
  return count;
}

// Reads to the end into a string that starts at `guess` bytes.
absl::StatusOr<std::string> ReadAll(int fd, absl::string_view name, int64_t max_bytes, size_t guess) {
  constexpr size_t kMinStep = 64 << 10;
  std::string bytes;
  size_t used = 0;
  // One byte more than expected shows the end without another turn.
  bytes.resize(guess + 1);
  while (true) {
    const ssize_t count = ReadSome(fd, &bytes[used], bytes.size() - used);
    if (count < 0) return ReadError(name, ReasonOf(errno));
    if (count == 0) break;
    used += static_cast<size_t>(count);
    if (static_cast<int64_t>(used) > max_bytes) return TooLargeError(name, -1, max_bytes);
    if (used == bytes.size()) {
      // Doubles, up to one byte above the limit.
      const size_t limit = static_cast<size_t>(max_bytes) + 1;
      bytes.resize(std::max(used + 1, std::min(limit, std::max(2 * used, used + kMinStep))));
    }
  }
  bytes.resize(used);
  return bytes;
}

// Writes all of `bytes`; false and errno on failure.
bool WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), std::min(bytes.size(), size_t{1} << 30));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// `path` with links followed, if it exists.
std::string Resolved(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string resolved = real;
  std::free(real);
  return resolved;
}

// Writes and syncs `bytes` to the new file `path`; 0, or the errno of what failed.
int WriteNewFile(const std::string& path, absl::string_view bytes, const struct stat* old_facts) {
  Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!descriptor.ok()) return errno;
  if (old_facts != nullptr && ::fchmod(descriptor.get(), old_facts->st_mode & 07777) != 0) return errno;
  if (!WriteAll(descriptor.get(), bytes) || ::fsync(descriptor.get()) != 0) return errno;
  return descriptor.Close() ? 0 : errno;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  SLUICE_ASSIGN_OR_RETURN(const OpenFile file, OpenForReading(path, max_bytes));
  const bool regular = S_ISREG(file.facts.st_mode);
  return ReadAll(file.descriptor.get(), path, max_bytes, regular ? static_cast<size_t>(file.facts.st_size) : 0);
}

absl::StatusOr<std::string> ReadDescriptor(int descriptor, absl::string_view name, int64_t max_bytes) {
  struct stat facts;
  size_t guess = 0;
  if (::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode)) {
    // Redirected from a file: the remaining size is known.
    const off_t position = std::max<off_t>(::lseek(descriptor, 0, SEEK_CUR), 0);
    const int64_t left = std::max<int64_t>(facts.st_size - position, 0);
    if (left > max_bytes) return TooLargeError(name, left, max_bytes);
    guess = static_cast<size_t>(left);
  }
  return ReadAll(descriptor, name, max_bytes, guess);
}

absl::StatusOr<std::string> ReadStandardInput(int64_t max_bytes) {
  return ReadDescriptor(STDIN_FILENO, "standard input", max_bytes);
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  const std::string target = Resolved(path);
  struct stat facts;
  const bool exists = ::stat(target.c_str(), &facts) == 0;
  if (exists && S_ISDIR(facts.st_mode)) return WriteError(path, "it is a directory");
  if (exists && !S_ISREG(facts.st_mode)) {
    const Descriptor descriptor(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (!descriptor.ok() || !WriteAll(descriptor.get(), bytes)) return WriteError(path, ReasonOf(errno));
    return absl::OkStatus();
  }
  std::string temporary;
  int error = MakeTemporaryFile(target, [&](const std::string& name) {
    const int failed = WriteNewFile(name, bytes, exists ? &facts : nullptr);
    if (failed != EEXIST) temporary = name;  // Else another process owns it.
    return failed;
  });
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    if (!temporary.empty()) ::unlink(temporary.c_str());
    return WriteError(path, ReasonOf(error));
  }
  SyncDirectoryOf(target);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path, int64_t max_bytes) {
  SLUICE_ASSIGN_OR_RETURN(const OpenFile opened, OpenForReading(path, max_bytes));
  struct MakeShared : MappedFile {};  // The constructor is private.
  const std::shared_ptr<MappedFile> file = std::make_shared<MakeShared>();
  if (S_ISREG(opened.facts.st_mode) && opened.facts.st_size > 0) {
    const size_t size = static_cast<size_t>(opened.facts.st_size);
    void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.descriptor.get(), 0);
    if (memory != MAP_FAILED) {
      file->bytes_ = absl::string_view(static_cast<const char*>(memory), size);
      file->is_mapped_ = true;
      AddMappedBytes(file->bytes_);
      return file;
    }
  }
  SLUICE_ASSIGN_OR_RETURN(file->copy_, ReadAll(opened.descriptor.get(), path, max_bytes, 0));
  file->bytes_ = file->copy_;
  return file;
}

MappedFile::~MappedFile() {
  if (!is_mapped_) return;
  RemoveMappedBytes(bytes_);
  ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace sluice
