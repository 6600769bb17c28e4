#ifndef SLUICE_EXECUTOR_SAVED_MODEL_MODEL_STATE_H_
#define SLUICE_EXECUTOR_SAVED_MODEL_MODEL_STATE_H_

// The state of a model from its files: the values of its variables, and what its init op reads.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "graph/load/load_graph.h"

namespace sluice {

// The directory in which the model's files are: of a SavedModel, or of the file that it was loaded from. Empty for one
// that came from elsewhere.
std::string ModelDirectory(const LoadedGraph& model);

// Whether the model has nodes that read its variables from a checkpoint: the saver that its file names, else that of
// tf.train.Saver (save/restore_all).
bool HasSaver(const LoadedGraph& model);

// The prefix of the checkpoint that holds the trained values of the model's variables: variables/ of a SavedModel, or
// X.index, or X in the first form, beside the MetaGraph X.meta. Empty if there is none.
std::string TrainedValuesPrefix(const LoadedGraph& model);

// Returns the prefix that `path` means: for a directory the newest checkpoint that its file `checkpoint` names, else
// itself.
absl::StatusOr<std::string> CheckpointPrefix(const std::string& path);

// Runs the nodes of the model that read its variables from the checkpoint at `prefix`, and fills the variables that
// they leave out (Note [Variables without a restore]). kCannotRun if it has no such nodes; the errors of the run.
absl::Status RestoreVariables(Session& session, const LoadedGraph& model, const std::string& prefix,
                              const CallOptions& options);

// Writes a checkpoint likewise, and names it as the newest in the file `checkpoint` beside it.
absl::Status SaveVariables(Session& session, const LoadedGraph& model, const std::string& prefix,
                           const CallOptions& options);

// Returns the path of an asset's file. kPathEscape if that leads out of the model's directory.
absl::StatusOr<std::string> AssetPath(const LoadedGraph& model, const ModelAsset& asset);

// Runs the init op of a SavedModel, which reads the files of its assets, if it has one. kPathEscape for an asset that
// is named by a path out of the model's directory.
absl::Status RunModelInit(Session& session, const LoadedGraph& model, const CallOptions& options);

// Makes a loaded SavedModel ready: restores its trained values, then runs its init op.
absl::Status InitialiseModel(Session& session, const LoadedGraph& model, const CallOptions& options = {});

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_MODEL_STATE_H_
