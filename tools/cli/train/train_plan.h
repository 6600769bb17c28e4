#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_PLAN_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_PLAN_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/saved_model/saver_nodes.h"
#include "graph/base/limits.h"
#include "graph/load/load_graph.h"
#include "graph/value/tensor.h"
#include "tools/cli/train/table_values.h"
#include "tools/cli/train/train_data.h"
#include "tools/cli/train/train_request.h"

namespace sluice {

// A tensor that is fed with one value in all steps.
struct FixedFeed {
  std::string endpoint;
  Tensor training, validation;  // Without a value: not fed there.
};

// The nodes that training runs, by names of the graph.
struct TrainPlan {
  std::vector<TrainInput> inputs;
  std::vector<FixedFeed> fixed;
  std::vector<std::string> labels;   // "loss", then the metrics'.
  std::vector<std::string> fetches;  // The tensors of the same.
  std::string update;                // The node that does one step.
  std::vector<std::string> trained;  // Variables that the added step changes; empty with --train-op.
  std::string slot_init;             // Initialises added variables; empty: there are none.
  SaverNodes saver;                  // Of all variables that steps and validation need.
  SaverNodes others;                 // Of variables that only signatures of an exported model need.
  TableNodes tables;                 // The same of lookup tables that steps may change.
};

// Returns the signature whose keys the request uses: that of --signature, else, if the loss is neither a node nor a
// result of serving_default, the one that has it. Empty: serving_default, if any. kSavedModelSignatureUnknown if
// several have it.
absl::StatusOr<std::string> ChooseSignature(const LoadedGraph& model, const TrainRequest& request);

// Adds to the model's graph a training step for the request's loss, unless the model has one, and a saver; plans the
// feeds. Errors in the user's names, all at once where possible: kFetchUnknown, kTargetUnknown, kFeedUnknown with near
// names, kFeedType for a loss or a metric that is not a number, kFeedMissing; those of AddTrainStep; kValueSyntax.
absl::StatusOr<TrainPlan> PlanTraining(LoadedGraph& model, const TrainRequest& request, const LoadLimits& limits);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_PLAN_H_
