#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_START_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_START_H_

#include "absl/status/status.h"
#include "executor/session/session.h"
#include "graph/load/load_graph.h"
#include "tools/cli/run/model_session.h"
#include "tools/cli/train/train_plan.h"

namespace sluice {

// Gives all variables of the plan the values that training starts from: those of --restore or of a trained model, else
// what --init or the model's init gives, else what the node that assigns each of them first ("w/Assign") does; slots
// theirs. kUninitialized for variables that then have none, saying which; the errors of `run`.
absl::Status StartTraining(Session& session, const LoadedGraph& model, const TrainPlan& plan,
                           const ModelSessionOptions& options, const CallOptions& call);

// Gives them the values in a checkpoint of the same training, all of them, and mutable tables their entries. Runs the
// model's init and those of `options` before, for the tables that these fill; variables that training leaves alone,
// which are in no checkpoint of it, get their values as in StartTraining. kCheckpointName for a variable that is not
// there.
absl::Status ContinueTraining(Session& session, const LoadedGraph& model, const TrainPlan& plan,
                              const ModelSessionOptions& options, const NamedTensors& checkpoint,
                              const CallOptions& call);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_START_H_
