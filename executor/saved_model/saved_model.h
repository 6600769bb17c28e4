#ifndef SLUICE_EXECUTOR_SAVED_MODEL_SAVED_MODEL_H_
#define SLUICE_EXECUTOR_SAVED_MODEL_SAVED_MODEL_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "graph/load/load_graph.h"
#include "kernels/checkpoint/bundle_index.h"

namespace sluice {

// A SavedModel directory, its files opened: its graph, what the file says about it, and the index of its variables.
struct SavedModel {
  LoadedGraph loaded;
  std::optional<BundleIndex> variables;  // Absent if the model has no variables.
};

// Opens the index of the variables of the SavedModel in `directory` and checks the extent of every shard; returns no
// value if the model has no variables. The errors of BundleIndex::Open.
absl::StatusOr<std::optional<BundleIndex>> OpenVariables(const std::string& directory);

// Opens the SavedModel in `directory`. The variables' index and the extent of every shard are checked, their data is
// not read yet. kSavedModelMissing (NOT_FOUND) when neither saved_model.pb nor saved_model.pbtxt is there; otherwise
// the errors of LoadGraphFile and BundleIndex::Open.
absl::StatusOr<SavedModel> LoadSavedModel(const std::string& directory, LoadOptions options);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_SAVED_MODEL_H_
