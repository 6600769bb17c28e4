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

// Plans what --export writes: the model's signatures, with the outputs of --output, if given, as serving_default (its
// inputs are the placeholders that they need); and the init op that fills tables. Called before training:
// kFetchUnknown; kValueSyntax if there are neither signatures nor outputs.
absl::StatusOr<ModelExport> PlanExport(const LoadedGraph& model, const TrainPlan& plan, const TrainRequest& request);

// kCannotRun, without --force, if the directory of --export is not empty.
absl::Status CheckExportPlace(const TrainRequest& request);

// Writes it there, replacing a SavedModel. The errors of CheckExportPlace and WriteSavedModel.
absl::Status ExportTrained(const TrainRequest& request, const LoadedGraph& model, const ModelExport& what,
                           const NamedTensors& values);

// Returns the binary MetaGraphDef for checkpoints: the graph with its training, and the saver. Adds reads of variables
// to the graph if the model does not list its variables.
absl::StatusOr<std::string> TrainingMetaGraph(LoadedGraph& model, const TrainPlan& plan);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_EXPORT_H_
