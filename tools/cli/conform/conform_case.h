#ifndef SLUICE_TOOLS_CLI_CONFORM_CONFORM_CASE_H_
#define SLUICE_TOOLS_CLI_CONFORM_CONFORM_CASE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/cli/conform/conform_train.h"

namespace sluice {

// How a step must fail.
struct ExpectedError {
  enum class When { kLoad, kRun, kAny };

  std::string code;                   // "INVALID_ARGUMENT".
  std::vector<std::string> contains;  // Words that the message must hold, case ignored.
  When when = When::kRun;
};

struct ConformFetch {
  std::string tensor;
  std::string file;  // Empty: any value; "none": not connected; ".json": dtype and shape only.
};

// Gradients that the runner adds to the graph before the first step.
struct ConformGradients {
  std::vector<std::string> ys, xs, grad_ys, stop;
  std::string prefix;
};

// One run of the graph. See conformance/README.md for all of these.
struct ConformStep {
  std::string name;                                        // "3" when the file gives none.
  std::vector<std::pair<std::string, std::string>> feeds;  // Tensor, file.
  std::vector<ConformFetch> fetches;
  std::vector<std::string> targets;
  int repeat = 1;
  std::optional<ExpectedError> error;
};

// One case folder, read.
struct ConformCase {
  std::string name;   // "ops/AddV2": the last two parts of the folder.
  std::string suite;  // "ops".
  std::string folder;
  std::string graph;  // A file of the folder; empty with a SavedModel.
  std::string saved_model;
  std::vector<std::string> tags;
  std::string signature;
  double rtol = 0, atol = 0;
  std::vector<std::string> needs;
  std::vector<ConformGradients> gradients;
  std::vector<ConformTraining> training;
  std::vector<ConformStep> steps;
  nlohmann::json inspect;  // Null if the file has none.
};

// Finds the folders below `path` (or `path` itself) with a case.json, in order of name. kFileMissing if there are none.
absl::StatusOr<std::vector<std::string>> FindCaseFolders(const std::string& path);

// Reads case.json of `folder`. kFileText, naming the file, if it is not as the README says.
absl::StatusOr<ConformCase> ReadConformCase(const std::string& folder);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONFORM_CONFORM_CASE_H_
