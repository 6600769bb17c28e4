#ifndef SLUICE_GRAPH_TRAINING_LEARNING_RATE_H_
#define SLUICE_GRAPH_TRAINING_LEARNING_RATE_H_

#include <utility>
#include <vector>

#include "graph/training/train_nodes.h"
#include "graph/training/train_options.h"
#include "graph/training/variable_node.h"
#include "graph/value/dtype.h"

namespace sluice {

// The learning rate of a step as nodes: a number or a tensor, changed by a schedule at the global step. Borrows all it
// is made of.
class LearningRate {
 public:
  // Whether a global step is needed.
  static bool NeedsStep(const LearningRateSchedule& schedule) {
    return schedule.kind != LearningRateSchedule::Kind::kConstant || schedule.warmup_steps > 0;
  }

  // `step`: the number of updates so far; unset where none is needed.
  LearningRate(TrainNodes& nodes, const TrainStepOptions& options, const Expr& step);

  const Expr& value() const { return value_; }
  // For variables of this type. One node for each type.
  Expr As(DType type);

 private:
  TrainNodes& nodes_;
  Expr value_;
  std::vector<std::pair<DType, Expr>> casts_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_TRAINING_LEARNING_RATE_H_
