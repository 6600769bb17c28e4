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

// A copy of a case's folder, the working directory of the process while this lives. Only while no other thread opens
// files.
class CaseCopy {
 public:
  // kCannotRun if it cannot be made.
  static absl::StatusOr<std::unique_ptr<CaseCopy>> Make(const ConformCase& test);
  CaseCopy(const CaseCopy&) = delete;
  CaseCopy& operator=(const CaseCopy&) = delete;
  // Restores the working directory, and removes the copy.
  ~CaseCopy();

  // The case, in the copy.
  const ConformCase& test() const { return test_; }

 private:
  // Takes ownership of `folder`, which the destructor removes: it must never be the case's own.
  CaseCopy(const ConformCase& test, std::filesystem::path before, std::string folder)
      : test_(test), before_(std::move(before)) {
    test_.folder = std::move(folder);
  }

  ConformCase test_;
  const std::filesystem::path before_;
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONFORM_CASE_COPY_H_
