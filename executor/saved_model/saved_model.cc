#include "executor/saved_model/saved_model.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {

absl::StatusOr<SavedModel> LoadSavedModel(const std::string& directory, LoadOptions options) {
  std::error_code ignored;
  const std::filesystem::path root(directory);
  if (!std::filesystem::is_directory(root, ignored)) {
    return Error(ErrorCode::kSavedModelMissing)
        .Text(absl::StrCat("'", directory, "' is no SavedModel: it is not a directory"))
        .Expected("a directory that holds saved_model.pb or saved_model.pbtxt");
  }
  options.accepted = AcceptedKind::kSavedModel;
  SavedModel model;
  SLUICE_ASSIGN_OR_RETURN(model.loaded, LoadGraphFile(directory, options));
  const std::string prefix = (root / "variables" / "variables").string();
  const bool has_index = std::filesystem::exists(prefix + ".index", ignored);
  if (has_index) {
    SLUICE_ASSIGN_OR_RETURN(model.variables, BundleIndex::Open(prefix));
  }
  return model;
}

}  // namespace sluice
