#include "tools/cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPathBytes = 1000;

absl::Status CannotWrite(const std::string& path, absl::string_view why) {
  return WithFile(
      Error(ErrorCode::kFileWrite).Text(absl::StrCat("cannot write '", PrintableName(path, kMaxPathBytes), "': ", why)),
      path);
}

// Whether this process may do `what` (W_OK, X_OK) with the file at `path`; else errno says why.
bool MayDo(const std::string& path, int what) { return ::faccessat(AT_FDCWD, path.c_str(), what, AT_EACCESS) == 0; }

// The directory in which the file at `path` lies.
std::string DirectoryOf(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// Checks that files can be made in `directory`, after making up to `most_made` missing directories on its path. `path`
// is for errors.
absl::Status CheckDirectory(std::string directory, int most_made, const std::string& path) {
  struct stat facts;
  for (; ::stat(directory.c_str(), &facts) != 0; --most_made) {
    const int error = errno;
    const std::string above = DirectoryOf(directory);
    const bool is_missing = error == ENOENT || error == ENOTDIR;
    if (!is_missing || above == directory) return CannotWrite(path, std::strerror(error));
    if (error == ENOENT && most_made == 0) {
      return CannotWrite(path, absl::StrCat("there is no directory '", PrintableName(directory, kMaxPathBytes), "'"));
    }
    directory = above;
  }
  const std::string quoted = absl::StrCat("'", PrintableName(directory, kMaxPathBytes), "'");
  if (!S_ISDIR(facts.st_mode)) return CannotWrite(path, absl::StrCat(quoted, " is not a directory"));
  if (MayDo(directory, W_OK | X_OK)) return absl::OkStatus();
  return CannotWrite(path, absl::StrCat("no file can be made in ", quoted, ": ", std::strerror(errno)));
}

}  // namespace

absl::Status CheckOutputFile(const std::string& path) {
  if (path.empty() || path == "-") return absl::OkStatus();
  struct stat facts;
  if (::stat(path.c_str(), &facts) != 0) {
    const int error = errno;
    if (error != ENOENT && error != ENOTDIR) return CannotWrite(path, std::strerror(error));
    return CheckDirectory(DirectoryOf(path), /*most_made=*/0, path);
  }
  if (S_ISDIR(facts.st_mode)) return CannotWrite(path, "it is a directory");
  if (!S_ISREG(facts.st_mode)) {  // A pipe or device is written to; a file is replaced.
    return MayDo(path, W_OK) ? absl::OkStatus() : CannotWrite(path, std::strerror(errno));
  }
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);  // Links stay; their target is replaced.
  return CheckDirectory(DirectoryOf(failed ? path : real.string()), /*most_made=*/0, path);
}

absl::Status CheckOutputDirectory(const std::string& path) {
  return CheckDirectory(path, std::numeric_limits<int>::max(), path);
}

absl::Status CheckOutputPrefix(const std::string& prefix) {
  return prefix.empty() ? absl::OkStatus() : CheckDirectory(DirectoryOf(prefix), /*most_made=*/1, prefix);
}

}  // namespace sluice
