#include "kernels/checkpoint/file_errors.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

constexpr size_t kMaxPath = 1000;

ErrorCode CodeFor(int error) {
  switch (error) {
    case ENOENT:
      return ErrorCode::kFileMissing;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
      return ErrorCode::kOutOfMemory;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kPathEscape;
    default:
      return ErrorCode::kFileWrite;
  }
}

}  // namespace

absl::Status FileError(int error, absl::string_view what, absl::string_view path) {
  return Error(CodeFor(error))
      .Text(absl::StrCat(what, " '", PrintableName(path, kMaxPath), "': ", std::strerror(error)));
}

absl::Status MissingFile(absl::string_view path) {
  const absl::Status error = Error(ErrorCode::kCheckpointMissing)
                                 .Text(absl::StrCat("the file '", PrintableName(path, kMaxPath), "' is missing"));
  return WithFile(error, path);
}

absl::Status NotPlainFile(absl::string_view path) {
  const absl::Status error =
      Error(ErrorCode::kFileRead)
          .Text(absl::StrCat("cannot read '", PrintableName(path, kMaxPath), "': it is not a plain file"));
  return WithFile(error, path);
}

}  // namespace sluice
