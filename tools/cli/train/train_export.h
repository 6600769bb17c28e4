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

// What --export writes: the outputs that --output names, else the results of the signature; and as inputs the
// placeholders that these need. Found before training: kFetchUnknown, kValueSyntax where neither is there.
absl::StatusOr<ModelExport> PlanExport(const LoadedGraph& model, const TrainPlan& plan, const TrainRequest& request);

// The binary MetaGraphDef that stands beside checkpoints: the graph with its training, and the saver. Adds reads of
// variables to the graph where the model does not say what its variables are.
absl::StatusOr<std::string> TrainingMetaGraph(LoadedGraph& model, const TrainPlan& plan);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_EXPORT_H_
