#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_START_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_START_H_

#include "absl/status/status.h"
#include "executor/session/session.h"
#include "graph/load/load_graph.h"
#include "tools/cli/run/model_session.h"
#include "tools/cli/train/train_plan.h"

namespace sluice {

// Gives all variables of the plan the values that training starts from: those of --restore or of a trained model, else
// of --init or the model's init, else of the first node that assigns each ("w/Assign"); then initialises slots.
// kUninitialized, naming the variables that have none; the errors of `run`.
absl::Status StartTraining(Session& session, const LoadedGraph& model, const TrainPlan& plan,
                           const ModelSessionOptions& options, const CallOptions& call);

// Restores all of them, and the entries of mutable tables, from a checkpoint of the same training. Before, runs the
// model's init and those of `options`, for the tables that these fill; variables that training does not change, which
// its checkpoints lack, get their values as in StartTraining. kCheckpointName for a missing variable.
absl::Status ContinueTraining(Session& session, const LoadedGraph& model, const TrainPlan& plan,
                              const ModelSessionOptions& options, const NamedTensors& checkpoint,
                              const CallOptions& call);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_START_H_
