#include "executor/saved_model/saved_model.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {

absl::StatusOr<std::optional<BundleIndex>> OpenVariables(const std::string& directory) {
  const std::string prefix = (std::filesystem::path(directory) / "variables" / "variables").string();
  std::error_code ignored;
  if (!std::filesystem::exists(prefix + ".index", ignored)) return std::optional<BundleIndex>();
  SLUICE_ASSIGN_OR_RETURN(BundleIndex index, BundleIndex::Open(prefix));
  return std::optional<BundleIndex>(std::move(index));
}

absl::StatusOr<SavedModel> LoadSavedModel(const std::string& directory, LoadOptions options) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored)) {
    return Error(ErrorCode::kSavedModelMissing)
        .Text(absl::StrCat("'", PrintableName(directory), "' is not a SavedModel: it is not a directory"))
        .Expected("a directory that holds saved_model.pb or saved_model.pbtxt");
  }
  options.accepted = AcceptedKind::kSavedModel;
  SavedModel model;
  SLUICE_ASSIGN_OR_RETURN(model.loaded, LoadGraphFile(directory, options));
  SLUICE_ASSIGN_OR_RETURN(model.variables, OpenVariables(directory));
  return model;
}

}  // namespace sluice
