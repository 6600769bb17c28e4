#ifndef SLUICE_GRAPH_TRAINING_VARIABLE_UPDATER_H_
#define SLUICE_GRAPH_TRAINING_VARIABLE_UPDATER_H_

#include <utility>
#include <vector>

#include "graph/training/learning_rate.h"
#include "graph/training/train_nodes.h"
#include "graph/training/train_options.h"
#include "graph/training/update_forms.h"
#include "graph/training/variable_node.h"

namespace sluice {

// Changes variables by their gradients as an optimizer says, and adds the slots that it needs. Borrows all it is made
// of.
class VariableUpdater {
 public:
  // Whether sparse gradients change only their rows, so that they need not become dense.
  static bool TakesRows(const TrainStepOptions& options);

  VariableUpdater(TrainNodes& nodes, const TrainStepOptions& options, LearningRate& rate)
      : nodes_(nodes), options_(options), form_(FormOf(options.optimizer)), rate_(rate) {}

  // Adds the slots, then the updates after `ready`, which runs after all gradients. Returns a node that runs after all
  // updates.
  NodeId Update(std::vector<Trained> all, NodeId ready);

 private:
  // beta1 and beta2 to the power of the number of this step: variables that all of Adam's updates read.
  struct Power {
    VariableNode variable;
    double beta = 0;
    std::vector<std::pair<DType, Expr>> values;  // In each type that is needed.
  };
  struct Target {
    Trained trained;
    std::vector<VariableNode> slots;
  };

  void AddPowers(const std::vector<Trained>& all);
  std::vector<VariableNode> AddSlots(const VariableNode& variable);
  void UpdateOne(const Target& target, NodeId ready);
  std::vector<NodeId> Decay(const Trained& one);
  NodeId Apply(const Target& target);
  // Updates rows by formulas, for optimizers without a TensorFlow op for that.
  std::vector<NodeId> ApplyToRows(const Target& target);
  Expr ArgOf(UpdateArg arg, const Trained& one);
  Expr PowerOf(UpdateArg arg, DType type);
  void ReadPowers(DType type);
  void AdvancePowers();

  TrainNodes& nodes_;
  const TrainStepOptions& options_;
  const UpdateForm& form_;
  LearningRate& rate_;
  std::vector<Power> powers_;  // In the order of the op's arguments.
  std::vector<NodeId> updates_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_TRAINING_VARIABLE_UPDATER_H_
