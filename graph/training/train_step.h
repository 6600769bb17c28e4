#ifndef SLUICE_GRAPH_TRAINING_TRAIN_STEP_H_
#define SLUICE_GRAPH_TRAINING_TRAIN_STEP_H_

// Training as a part of the graph: gradients of a loss, and updates of variables by them.

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/gradients/gradient.h"
#include "graph/ir/graph.h"
#include "graph/training/train_options.h"

namespace sluice {

struct TrainStep {
  NodeId update;              // Runs one step. A loss that is fetched with it is the one before the update.
  NodeId init;                // Gives the slots their first values: to be run once, after the variables have theirs.
  std::vector<NodeId> slots;  // All variables added, by TensorFlow's names: "w/Adam", "w/Adam_1", "beta1_power".
  std::vector<Gradient> gradients;   // Of the variables, before clipping; unset where the loss does not depend on one.
  NodeId global_step;                // The one that was given, or that was added; invalid: none.
  Output learning_rate = kNoOutput;  // A scalar: the rate of the step, as the schedule has it.
};

// Adds to `graph` the gradients of `loss`, a real tensor, and the updates of `variables` (VarHandleOp, VariableV2,
// Variable). Variables without a gradient stay as they are; it is an error where none has one. All gradients of a step
// are computed before the first update, and so is the loss. Sparse gradients: equal rows are added up; others are
// treated as RowRule says. May be called again, for another loss or other variables: names that are taken get numbers.
// On error the graph is as before.
//
//   TrainStepOptions options;
//   options.optimizer.kind = Optimizer::Kind::kAdam;
//   options.schedule.kind = LearningRateSchedule::Kind::kCosine;
//   options.schedule.decay_steps = 10000;
//   SLUICE_ASSIGN_OR_RETURN(const TrainStep step, AddTrainStep(graph, loss, variables, options));
//   // Once: run step.init. Then again and again: feed a batch, run step.update.
absl::StatusOr<TrainStep> AddTrainStep(Graph& graph, const Output& loss, absl::Span<const NodeId> variables,
                                       const TrainStepOptions& options);

}  // namespace sluice

#endif  // SLUICE_GRAPH_TRAINING_TRAIN_STEP_H_
