#ifndef SLUICE_GRAPH_TRAINING_LOSS_SCALER_H_
#define SLUICE_GRAPH_TRAINING_LOSS_SCALER_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/training/train_nodes.h"
#include "graph/training/train_options.h"
#include "graph/training/variable_node.h"

namespace sluice {

// Scales the loss of a step and takes the scale out of the gradients again, as LossScaling says. Borrows all it is made
// of.
class LossScaler {
 public:
  // Adds the variables of a dynamic scale, beside `like`.
  LossScaler(TrainNodes& nodes, const LossScaling& options, const VariableNode& like);

  // Returns the first gradient of the loss: the scale, in its shape.
  Output SeedOf(const Output& loss);
  // Divides by the scale.
  void Unscale(absl::Span<Trained> all);
  bool is_dynamic() const { return options_.kind == LossScaling::Kind::kDynamic; }
  // Whether all of them are finite: a scalar.
  Expr AllFinite(absl::Span<const Trained> all);
  // Adds nodes that change the scale after this step. REQUIRES: it is dynamic.
  std::vector<NodeId> Adjust(const Expr& is_finite);

 private:
  TrainNodes& nodes_;
  const LossScaling& options_;
  std::optional<VariableNode> scale_variable_, good_steps_;  // Of a dynamic scale.
  Expr scale_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_TRAINING_LOSS_SCALER_H_
