#ifndef SLUICE_TOOLS_CLI_RUN_CHECKPOINT_STEP_H_
#define SLUICE_TOOLS_CLI_RUN_CHECKPOINT_STEP_H_

#include <string>

#include "absl/status/status.h"
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

// Where a SavedModel directory keeps its variables; empty when `model` is none or has no variables.
std::string SavedVariablesPrefix(const LoadedGraph& model);

// Runs the init op of a SavedModel, which reads the files of its assets, if it has one.
absl::Status RunModelInit(Session& session, const LoadedGraph& model, const CallOptions& options);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_CHECKPOINT_STEP_H_
