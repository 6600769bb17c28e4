#include "tools/cli/conform/case_copy.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

absl::Status CannotCopy(const ConformCase& test, const std::error_code& why) {
  return Error(ErrorCode::kCannotRun)
      .Text(absl::StrCat("the folder of '", test.name, "' cannot be copied: ", why.message()));
}

}  // namespace

bool WorksInItsFolder(const ConformCase& test) {
  return std::find(test.needs.begin(), test.needs.end(), "checkpoint") != test.needs.end();
}

absl::StatusOr<std::unique_ptr<CaseCopy>> CaseCopy::Make(const ConformCase& test) {
  std::error_code failed;
  const fs::path before = fs::current_path(failed);
  if (failed) return CannotCopy(test, failed);
  const fs::path directory = fs::temp_directory_path(failed);
  std::string folder = (directory / "sluice-case-XXXXXX").string();  // mkdtemp fills in the Xs.
  if (failed || ::mkdtemp(folder.data()) == nullptr) {
    return CannotCopy(test, failed ? failed : std::error_code(errno, std::generic_category()));
  }
  std::unique_ptr<CaseCopy> copy(new CaseCopy(test, before, std::move(folder)));
  const std::string& copied = copy->test_.folder;
  fs::copy(test.folder, copied, fs::copy_options::recursive | fs::copy_options::copy_symlinks, failed);
  if (!failed) fs::current_path(copied, failed);
  if (failed) return CannotCopy(test, failed);
  return copy;
}

CaseCopy::~CaseCopy() {
  std::error_code ignored;
  fs::current_path(before_, ignored);
  fs::remove_all(test_.folder, ignored);
}

}  // namespace sluice
