#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAINER_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAINER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/session/session.h"
#include "graph/base/cancellation.h"
#include "tools/cli/console/console.h"
#include "tools/cli/train/batch_order.h"
#include "tools/cli/train/train_checkpoints.h"
#include "tools/cli/train/train_data.h"
#include "tools/cli/train/train_display.h"
#include "tools/cli/train/train_log.h"
#include "tools/cli/train/train_plan.h"
#include "tools/cli/train/train_request.h"
#include "tools/cli/train/train_state.h"

namespace sluice {

// Note [Resumed training]
// Steps after a break must not depend on the break. So a checkpoint, which appears as a whole, holds every variable
// that steps read (slots, the global step and states of generators included), the states of generators that kernels
// keep, the entries of mutable tables, and the TrainState; not the contents of queues and stages. The order of rows is
// a function of the seed and the epoch (BatchOrder). Sessions are deterministic: results do not depend on threads. The
// loss curve has its row before the checkpoint of that step is written, and later rows are dropped when training
// resumes. Interrupts are polled between steps: a step is never stopped half way.

// Note [Validation leaves no trace]
// Evaluating a loss may change state: moving averages, generators of random numbers, counters, tables. So validation
// runs in a session of its own, which shares the graph and nothing else: a training takes the same steps, bit for bit,
// with and without it. Each time it begins with the values that the training has at that step: variables, entries of
// mutable tables, states of generators; so its results do not depend on earlier validations or on breaks. Queues and
// stages would be empty there, and are refused. Files and prints of the loss are shared, being outside of sessions.

// What a training runs on; all borrowed.
struct TrainRun {
  Session& session;
  Session* validation_session;  // See Note [Validation leaves no trace]. Null: no validation.
  const TrainPlan& plan;
  const TrainRequest& request;
  const TrainData& data;
  const TrainData* validation_data;  // Null: rows of `data`.
  Console& console;
  CancellationManager& cancellation;  // Cancelled: training stops after the step.
};

// Trains: steps, epochs, validation, checkpoints, the loss curve. See Note [Resumed training]. One thread's.
class Trainer {
 public:
  Trainer(const TrainRun& run, BatchOrder order, std::optional<BatchOrder> validation, TrainState state);

  // Prepares the signatures, so that kernels exist before states of generators are restored.
  absl::Status Prepare();
  // Runs until the last step or a cancellation, and saves a checkpoint. Returns the error that stopped it; a
  // cancellation is OK.
  absl::Status Run(TrainCheckpoints& checkpoints, TrainLog& log, TrainDisplay& display);

  const TrainState& state() const { return state_; }
  bool was_interrupted() const { return was_interrupted_; }

 private:
  struct Signature {
    std::shared_ptr<const Callable> callable;
    std::vector<Tensor> fixed;  // After the inputs.
  };

  absl::StatusOr<Signature> PrepareSignature(Session& session, bool is_training) const;
  // Runs one batch; returns the means of the fetched tensors.
  absl::StatusOr<std::vector<double>> RunBatch(const Signature& signature, const TrainData& data,
                                               absl::Span<const int64_t> rows) const;
  absl::Status Step(TrainLog& log, TrainDisplay& display);
  // Copies the present state of training to the session of validation.
  absl::Status CopyState() const;
  // Empty without validation, or if it was interrupted.
  absl::StatusOr<std::vector<double>> Validate();
  absl::Status EndEpoch(TrainLog& log, TrainDisplay& display);
  absl::Status Save(TrainCheckpoints& checkpoints, const TrainLog& log);
  absl::Status CheckFinite(const std::vector<double>& values);
  int64_t LastStep() const;
  bool IsOver() const { return state_.step >= last_step_; }

  const TrainRun run_;
  BatchOrder order_;
  std::optional<BatchOrder> validation_;
  TrainState state_;
  const int64_t first_step_, last_step_;
  const int64_t log_every_;
  Signature train_, validate_;
  NamedTensors first_generators_;  // The state of validation's session before its first run.
  int64_t saved_step_ = -1;
  bool has_warned_ = false;
  bool was_interrupted_ = false;
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAINER_H_
