#ifndef SLUICE_TOOLS_CLI_CONFORM_CASE_COPY_H_
#define SLUICE_TOOLS_CLI_CONFORM_CASE_COPY_H_

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "tools/cli/conform/conform_case.h"

namespace sluice {

// Whether the case feeds names of files that are relative to its folder, and may write there.
bool WorksInItsFolder(const ConformCase& test);

// A copy of a case's folder in which the process works as long as this lives. Only while no other thread opens files.
class CaseCopy {
 public:
  // kCannotRun where it cannot be made.
  static absl::StatusOr<std::unique_ptr<CaseCopy>> Make(const ConformCase& test);
  CaseCopy(const CaseCopy&) = delete;
  CaseCopy& operator=(const CaseCopy&) = delete;
  // Goes back to where the process worked before, and removes the copy.
  ~CaseCopy();

  // The case, in the copy.
  const ConformCase& test() const { return test_; }

 private:
  // Takes `folder` over, which the destructor removes: from the first moment on it must not be the case's own.
  CaseCopy(const ConformCase& test, std::filesystem::path before, std::string folder)
      : test_(test), before_(std::move(before)) {
    test_.folder = std::move(folder);
  }

  ConformCase test_;
  const std::filesystem::path before_;
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONFORM_CASE_COPY_H_
