#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_EXPORT_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_EXPORT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/saved_model/write_saved_model.h"
#include "graph/load/load_graph.h"
#include "tools/cli/train/train_plan.h"
#include "tools/cli/train/train_request.h"

namespace sluice {

// What --export writes: the signatures of the model, with the outputs that --output names, if it does, as those of
// serving_default (its inputs are the placeholders that they need); and the init op that fills tables. Found before
// training: kFetchUnknown, kValueSyntax where neither is there.
absl::StatusOr<ModelExport> PlanExport(const LoadedGraph& model, const TrainPlan& plan, const TrainRequest& request);

// kCannotRun, without --force, where something is in the directory that --export names.
absl::Status CheckExportPlace(const TrainRequest& request);

// Writes it there, in the place of the SavedModel that is there. The errors of CheckExportPlace and WriteSavedModel.
absl::Status ExportTrained(const TrainRequest& request, const LoadedGraph& model, const ModelExport& what,
                           const NamedTensors& values);

// The binary MetaGraphDef that stands beside checkpoints: the graph with its training, and the saver. Adds reads of
// variables to the graph where the model does not say what its variables are.
absl::StatusOr<std::string> TrainingMetaGraph(LoadedGraph& model, const TrainPlan& plan);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_EXPORT_H_
