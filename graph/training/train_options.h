#ifndef SLUICE_GRAPH_TRAINING_TRAIN_OPTIONS_H_
#define SLUICE_GRAPH_TRAINING_TRAIN_OPTIONS_H_

// The options of AddTrainStep; the defaults are plain gradient descent.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/gradients/gradient.h"
#include "graph/gradients/gradients.h"
#include "graph/ir/graph.h"

namespace sluice {

// How a variable w is changed by its gradient g. Slots, one tensor of the variable's shape each, begin with zeros
// unless stated. An optimizer ignores fields that it does not name.
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
    kFtrl,    // Follow the regularised leader; n begins with initial_accumulator.
    kAdaMax,  // m average of g; v = max(beta2 v, |g|); w -= lr/(1-beta1^t) m/(v+epsilon)
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

// How the learning rate changes with the number of updates made so far, s, which the global step counts. A kind ignores
// fields that it does not name. The formulas, and the type they are computed in (that of the rate: float where it is a
// number), are those of tf.compat.v1.train and tf.keras.optimizers.schedules.
struct LearningRateSchedule {
  enum class Kind : uint8_t {
    kConstant,
    kPiecewise,    // values[i] until s is above boundaries[i], then the next one. Ignores the learning rate.
    kExponential,  // rate decay_rate^(s/decay_steps); `staircase`: the exponent is rounded down.
    // From rate to end_rate: (rate - end_rate) (1 - s/decay_steps)^power + end_rate, which then stays. `cycle`: at each
    // multiple of decay_steps the end moves on to the next one.
    kPolynomial,
    kCosine,  // rate ((1-alpha) (1 + cos(pi s/decay_steps))/2 + alpha), which stays once s is decay_steps.
    // The same again and again: each period is t_mul times as long as the one before, and m_mul times as high.
    kCosineRestarts,
  };

  Kind kind = Kind::kConstant;
  // Above 0: in the first updates the rate grows evenly, from warmup_start to the rate with which the schedule begins;
  // s counts from the end of them.
  int64_t warmup_steps = 0;
  double warmup_start = 0;
  std::vector<int64_t> boundaries;  // Ascending.
  std::vector<double> values;       // One more than boundaries.
  double decay_steps = 1000;
  double decay_rate = 0.96;
  bool staircase = false;
  double end_rate = 0.0001;
  double power = 1;
  bool cycle = false;
  double alpha = 0;
  double t_mul = 2, m_mul = 1;
};

// Starts the loss's gradient with a large number instead of one, and divides those of variables by it, so that small
// gradients of half numbers do not become zeros.
struct LossScaling {
  enum class Kind : uint8_t {
    kNone,
    kFixed,
    // If a gradient is not finite nothing is updated or counted, and the scale is divided by `factor` (not below 1);
    // after growth_steps good steps in a row it is multiplied by it. Variables: "current_loss_scale", "good_steps".
    kDynamic,
  };

  Kind kind = Kind::kNone;
  double scale = 32768;  // At first.
  int64_t growth_steps = 2000;
  double factor = 2;
};

// How rows of a variable without a row in a sparse gradient change.
enum class RowRule : uint8_t {
  kTensorFlow,  // As its optimizers do: Adam and AdamW as kExact, all others as kLazy.
  kLazy,        // They and their slots stay as they are.
  kExact,       // Their gradient is zero, as if the gradient were dense: momentum still moves them.
};

struct TrainStepOptions {
  Optimizer optimizer;
  double learning_rate = 0.01;
  Output learning_rate_tensor = kNoOutput;  // Set: a scalar, read anew in each step, in the place of the number.
  LearningRateSchedule schedule;

  // At most one of three is above 0. They see what l2_regularization has added; rows that repeat count each.
  double clip_norm = 0;  // All gradients are scaled by clip_norm / max(norm, clip_norm), of the norm of all of them.
  double clip_each_norm = 0;  // The same, each gradient by its own norm.
  double clip_value = 0;      // Elements are cut to [-clip_value, clip_value].

  double l2_regularization = 0;  // Adds l2_regularization w to the gradient of w, as a loss of half of it times w^2.
  double weight_decay = 0;  // w -= lr weight_decay w before each update, whatever the optimizer; for AdamW see there.
  std::vector<NodeId> not_decayed;  // Variables exempt from both, and from AdamW's.

  RowRule rows = RowRule::kTensorFlow;
  // Above 1: gradients are added up, in variables "w/gradient_accumulator", and every accumulate_steps-th run of the
  // update goes by their mean; other runs change nothing else. A row is left alone only if all of the sparse gradients
  // leave it alone. Counted by the variable "accumulated_steps".
  int64_t accumulate_steps = 1;
  LossScaling loss_scaling;

  // Outputs fetched beside the loss; must be live in each step. Computed before the first update, as the loss is.
  std::vector<Output> before_update;

  // A variable that grows by one after each update; invalid: none, or where the schedule needs one "global_step", which
  // is added.
  NodeId global_step;
  std::string name = "train";  // Of the update's node, and the first part of the names of others but the slots.
  GradientOptions gradients;   // Without grad_ys; `unconnected` is ignored.
};

// kAttrValue, naming the options, for a number out of range or options that contradict each other.
absl::Status CheckTrainStepOptions(const TrainStepOptions& options);

}  // namespace sluice

#endif  // SLUICE_GRAPH_TRAINING_TRAIN_OPTIONS_H_
