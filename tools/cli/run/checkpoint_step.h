#ifndef SLUICE_TOOLS_CLI_RUN_CHECKPOINT_STEP_H_
#define SLUICE_TOOLS_CLI_RUN_CHECKPOINT_STEP_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "executor/session/session.h"
#include "graph/load/load_graph.h"

namespace sluice {

// Whether this build has kernels that read (RestoreV2) and write (SaveV2) checkpoints.
bool CanRestore();
bool CanSave();

// Runs the nodes of `model` that read its variables from the files at `prefix`: those that its file names as saver,
// else those that tf.train.Saver makes (save/restore_all). kCannotRun, saying why, when the build has no kernels for
// it or the model has no such nodes; then errors of the run.
absl::Status RestoreVariables(Session& session, const LoadedGraph& model, const std::string& prefix,
                              const CallOptions& options);

// The same for writing.
absl::Status SaveVariables(Session& session, const LoadedGraph& model, const std::string& prefix,
                           const CallOptions& options);

// The prefix of the checkpoint that holds the trained values of the model's variables: variables/ of a SavedModel, or
// X.index beside the MetaGraph X.meta. Empty: there is none there.
std::string TrainedValuesPrefix(const LoadedGraph& model);

// kCannotRun, saying what to do instead, where `prefix` (what `option` says, or the model's own) is not empty and this
// build has no kernels for it.
absl::Status CheckCanRestore(absl::string_view option, const std::string& prefix);
absl::Status CheckCanSave(absl::string_view option, const std::string& prefix);

// Whether the model has nodes that read its variables from a checkpoint.
bool HasSaver(const LoadedGraph& model);

// Paths in messages are not cut before.
inline constexpr size_t kMaxPathBytes = 1000;

// How to run a model whose checkpoint this build cannot read.
inline constexpr absl::string_view kFreezeHint =
    "freeze the model with TensorFlow (convert_variables_to_constants_v2, or convert_variables_to_constants) and run "
    "the frozen graph";

// Runs the init op of a SavedModel, which reads the files of its assets, if it has one.
absl::Status RunModelInit(Session& session, const LoadedGraph& model, const CallOptions& options);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_CHECKPOINT_STEP_H_
