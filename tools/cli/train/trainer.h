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

// Note [Training that goes on]
// What the steps after a break do must not depend on the break. So a checkpoint holds, in one file that appears as a
// whole: every variable that steps read (slots, the global step, states of generators included), the states of
// generators that kernels keep themselves, and the TrainState. The order of rows is a function of the seed and the
// epoch (BatchOrder). Kernels compute in deterministic sessions: their bits do not depend on threads. The loss curve
// holds a row before the checkpoint of its step is written, and rows of later steps are dropped when training goes on.
// A step is never stopped half way: what interrupts is looked at between steps. The entries of mutable tables are in
// it; what steps change in queues and stages is not.

// Note [Validation leaves no trace]
// Evaluating a loss may change state: moving averages, generators of random numbers, counters, tables. So validation
// runs in a session of its own, which shares the graph and nothing else: a training takes the same steps, bit for bit,
// with and without it. Each time it begins with the values that the training has at that step: variables, entries of
// mutable tables, states of generators; so its results do not depend on earlier validations or on breaks. Queues and
// stages would be empty there, and are refused. Files and prints of the loss are outside of all sessions.

// What a training runs on. All borrowed.
struct TrainRun {
  Session& session;
  Session* validation_session;  // See Note [Validation leaves no trace]. Null: there is no validation.
  const TrainPlan& plan;
  const TrainRequest& request;
  const TrainData& data;
  const TrainData* validation_data;  // Null: rows of `data`.
  Console& console;
  CancellationManager& cancellation;  // Cancelled: training stops after the step.
};

// Trains: steps, epochs, validation, checkpoints, the loss curve. See Note [Training that goes on]. One thread's.
class Trainer {
 public:
  Trainer(const TrainRun& run, BatchOrder order, std::optional<BatchOrder> validation, TrainState state);

  // Compiles what is run, so that kernels are there. Before states of generators are given back.
  absl::Status Prepare();
  // Until the last step, or until cancelled. What stopped it, but for a cancellation; a checkpoint has the state then.
  absl::Status Run(TrainCheckpoints& checkpoints, TrainLog& log, TrainDisplay& display);

  const TrainState& state() const { return state_; }
  bool was_interrupted() const { return was_interrupted_; }

 private:
  struct Signature {
    std::shared_ptr<const Callable> callable;
    std::vector<Tensor> fixed;  // After the inputs.
  };

  absl::StatusOr<Signature> PrepareSignature(Session& session, bool is_training) const;
  // What is fetched of one batch, as means.
  absl::StatusOr<std::vector<double>> RunBatch(const Signature& signature, const TrainData& data,
                                               absl::Span<const int64_t> rows) const;
  absl::Status Step(TrainLog& log, TrainDisplay& display);
  // Gives the session of validation the state that training has now.
  absl::Status CopyState() const;
  // Empty where there is no validation, or where it was interrupted.
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
  NamedTensors first_generators_;  // Of the session of validation, before it has run.
  int64_t saved_step_ = -1;
  bool has_warned_ = false;
  bool was_interrupted_ = false;
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAINER_H_
