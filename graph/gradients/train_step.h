#ifndef SLUICE_GRAPH_GRADIENTS_TRAIN_STEP_H_
#define SLUICE_GRAPH_GRADIENTS_TRAIN_STEP_H_

// Training as a part of the graph: gradients of a loss, and what changes variables by them.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/gradients/gradients.h"
#include "graph/ir/graph.h"

namespace sluice {

// How a variable w is changed by its gradient g. Slots, one tensor of the variable's shape each, begin with zeros but
// for what is said. The fields that an optimizer does not name mean nothing to it.
struct Optimizer {
  enum class Kind : uint8_t {
    kSgd,       // w -= lr g
    kMomentum,  // a = momentum a + g; w -= lr a; with `nesterov` w -= lr (g + momentum a)
    kAdagrad,   // a += g^2; w -= lr g / sqrt(a); a begins with initial_accumulator
    kAdadelta,  // a = rho a + (1-rho) g^2; u = g sqrt(d+epsilon)/sqrt(a+epsilon); d = rho d + (1-rho) u^2; w -= lr u
    kAdam,      // m, v averages of g and g^2; w -= lr sqrt(1-beta2^t)/(1-beta1^t) m/(sqrt(v)+epsilon)
    kAdamW,     // w -= lr weight_decay w, then Adam.
    // r = decay r + (1-decay) g^2; a = momentum a + lr g/sqrt(r+epsilon); w -= a; r begins with ones. `centered`:
    // sqrt(r - mean^2 + epsilon), where the mean of g is averaged as r is.
    kRmsProp,
    kFtrl,  // Follow the regularised leader; n begins with initial_accumulator.
  };

  Kind kind = Kind::kSgd;
  double momentum = 0;
  bool nesterov = false;
  double initial_accumulator = 0.1;
  double rho = 0.95;
  double epsilon = 1e-8;
  double beta1 = 0.9, beta2 = 0.999;
  double weight_decay = 0;
  double decay = 0.9;
  bool centered = false;
  double learning_rate_power = -0.5, l1 = 0, l2 = 0, l2_shrinkage = 0;
};

struct TrainStepOptions {
  Optimizer optimizer;
  double learning_rate = 0.01;
  Output learning_rate_tensor = kNoOutput;  // Set: a scalar, read anew in each step, in the place of the number.
  // Above 0: all gradients are scaled by clip_norm / max(norm, clip_norm), the norm being that of all of them together.
  double clip_norm = 0;
  NodeId global_step;          // A variable that grows by one after the update; invalid: none.
  std::string name = "train";  // Of the update's node, and the first part of the names of others but the slots.
  GradientOptions gradients;   // Without grad_ys.
};

struct TrainStep {
  NodeId update;              // Runs one step. A loss that is fetched with it is the one before the update.
  NodeId init;                // Gives the slots their first values: to be run once, after the variables have theirs.
  std::vector<NodeId> slots;  // Variables, by TensorFlow's names: "w/Adam", "w/Adam_1", "beta1_power".
  std::vector<Gradient> gradients;  // Of the variables, before clipping; unset where the loss does not depend on one.
};

// Adds to `graph` the gradients of `loss`, a real tensor, and the updates of `variables` (VarHandleOp, VariableV2,
// Variable). Variables without a gradient stay as they are; it is an error where none has one. All gradients of a step
// are computed before the first update, and so is the loss. Sparse gradients: equal rows are added up; then Adam takes
// rows without a gradient for zeros, others leave them and their slots alone. On error the graph is as before.
absl::StatusOr<TrainStep> AddTrainStep(Graph& graph, const Output& loss, absl::Span<const NodeId> variables,
                                       const TrainStepOptions& options);

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_TRAIN_STEP_H_
