#include "tools/cli/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/session/generator_states.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/cli/train/tensor_numbers.h"

namespace sluice {
namespace {

constexpr int64_t kEpochs = 10, kRowsPerEpoch = 20;

}  // namespace

Trainer::Trainer(const TrainRun& run, BatchOrder order, std::optional<BatchOrder> validation, TrainState state)
    : run_(run),
      order_(std::move(order)),
      validation_(std::move(validation)),
      state_(std::move(state)),
      first_step_(state_.step),
      last_step_(LastStep()),
      log_every_(run.request.log_every > 0 ? run.request.log_every
                                           : std::max<int64_t>(order_.batches_per_epoch() / kRowsPerEpoch, 1)) {}

int64_t Trainer::LastStep() const {
  const TrainRequest& request = run_.request;
  if (request.epochs == 0 && request.steps > 0) return request.steps;
  const int64_t epochs = request.epochs > 0 ? request.epochs : kEpochs;
  const int64_t batches = order_.batches_per_epoch();
  const int64_t by_epochs = epochs > INT64_MAX / batches ? INT64_MAX : batches * epochs;
  return request.steps > 0 ? std::min(request.steps, by_epochs) : by_epochs;
}

absl::Status Trainer::Prepare() {
  SLUICE_ASSIGN_OR_RETURN(train_, PrepareSignature(run_.session, /*is_training=*/true));
  if (!validation_.has_value()) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(validate_, PrepareSignature(*run_.validation_session, /*is_training=*/false));
  AppendGeneratorStates(*run_.validation_session, {}, &first_generators_);
  return absl::OkStatus();
}

absl::StatusOr<Trainer::Signature> Trainer::PrepareSignature(Session& session, bool is_training) const {
  FeedFetchSpec spec;
  Signature signature;
  for (const TrainInput& input : run_.plan.inputs) spec.feeds.push_back(input.endpoint);
  for (const FixedFeed& feed : run_.plan.fixed) {
    const Tensor& value = is_training ? feed.training : feed.validation;
    if (!value.has_value()) continue;
    spec.feeds.push_back(feed.endpoint);
    signature.fixed.push_back(value);
  }
  spec.fetches = run_.plan.fetches;
  spec.fed_is_answer = true;
  if (is_training) spec.targets = {run_.plan.update};
  PrepareOptions options;
  options.cancellation = &run_.cancellation;
  options.plan_name = is_training ? "train" : "validate";  // For any metrics: names its state in checkpoints.
  SLUICE_ASSIGN_OR_RETURN(signature.callable, session.Prepare(spec, options));
  return signature;
}

absl::StatusOr<std::vector<double>> Trainer::RunBatch(const Signature& signature, const TrainData& data,
                                                      absl::Span<const int64_t> rows) const {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < run_.plan.inputs.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(Tensor batch, data.Gather(i, rows));
    inputs.push_back(std::move(batch));
  }
  inputs.insert(inputs.end(), signature.fixed.begin(), signature.fixed.end());
  std::vector<Tensor> outputs(run_.plan.fetches.size());
  SLUICE_RETURN_IF_ERROR(signature.callable->Run(absl::MakeSpan(inputs), absl::MakeSpan(outputs)));
  std::vector<double> values;
  for (const Tensor& output : outputs) values.push_back(MeanOf(output));
  return values;
}

absl::Status Trainer::Run(TrainCheckpoints& checkpoints, TrainLog& log, TrainDisplay& display) {
  saved_step_ = state_.step > 0 ? state_.step : -1;
  while (!run_.cancellation.IsCancelling()) {
    if (state_.batch < order_.batches_per_epoch()) {
      if (IsOver()) break;
      SLUICE_RETURN_IF_ERROR(Step(log, display));
    }
    const bool ends_epoch = state_.batch == order_.batches_per_epoch();
    if (ends_epoch || IsOver()) SLUICE_RETURN_IF_ERROR(EndEpoch(log, display));
    const int64_t every = run_.request.save_every;
    const bool is_due = every > 0 ? state_.step % every == 0 : ends_epoch;
    if (is_due && !run_.cancellation.IsCancelling()) SLUICE_RETURN_IF_ERROR(Save(checkpoints, log));
  }
  display.End();
  was_interrupted_ = run_.cancellation.IsCancelling();
  return state_.step == saved_step_ ? log.Draw() : Save(checkpoints, log);
}

absl::Status Trainer::Step(TrainLog& log, TrainDisplay& display) {
  const absl::Span<const int64_t> rows = order_.Batch(state_.epoch, state_.batch);
  SLUICE_ASSIGN_OR_RETURN(const std::vector<double> values, RunBatch(train_, run_.data, rows));
  ++state_.step;
  ++state_.batch;
  SLUICE_RETURN_IF_ERROR(CheckFinite(values));
  const auto weight = static_cast<double>(rows.size());
  state_.of_epoch.Add(values, weight);
  state_.of_row.Add(values, weight);
  display.ShowStep(state_.step, first_step_, last_step_, state_.epoch + 1, values[0], absl::Now());
  if (state_.step % log_every_ != 0 && state_.batch != order_.batches_per_epoch()) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(log.Add({/*is_validation=*/false, state_.step, state_.epoch + 1, state_.of_row.Means()}));
  state_.of_row.Clear();
  return absl::OkStatus();
}

absl::Status Trainer::CheckFinite(const std::vector<double>& values) {
  const auto bad = std::find_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
  if (bad == values.end()) return absl::OkStatus();
  const auto which = static_cast<size_t>(bad - values.begin());
  const std::string what =
      absl::StrCat(which == 0 ? "the loss '" : "the metric '", PrintableName(run_.plan.fetches[which]), "' is ",
                   std::isnan(*bad) ? "NaN" : "infinite", " in step ", state_.step, " (epoch ", state_.epoch + 1,
                   ", batch ", state_.batch, ")");
  if (which == 0 && run_.request.when_nan() == TrainRequest::OnNan::kStop) {
    return Error(ErrorCode::kCannotRun)
        .Help(
            "a smaller --learning-rate or --clip-norm keeps steps short; look for such numbers in the data, too; "
            "--on-nan warn continues. Checkpoints of earlier steps are as they were")
        .Text(what);
  }
  if (!has_warned_) run_.console.Warn(absl::StrCat(what, "; this is said once"));
  has_warned_ = true;
  return absl::OkStatus();
}

absl::Status Trainer::CopyState() const {
  Session& to = *run_.validation_session;
  SLUICE_ASSIGN_OR_RETURN(const NamedTensors variables, ReadVariables(run_.session, run_.plan.saver));
  SLUICE_RETURN_IF_ERROR(AssignVariables(to, run_.plan.saver, variables));
  SLUICE_ASSIGN_OR_RETURN(const NamedTensors tables, ReadTables(run_.session, run_.plan.tables));
  SLUICE_RETURN_IF_ERROR(AssignTables(to, run_.plan.tables, tables));
  SLUICE_RETURN_IF_ERROR(RestoreGeneratorStates(to, first_generators_));
  NamedTensors generators;
  AppendGeneratorStates(run_.session, {train_.callable.get()}, &generators);
  return RestoreGeneratorStates(to, generators);
}

absl::StatusOr<std::vector<double>> Trainer::Validate() {
  if (!validation_.has_value()) return std::vector<double>();
  SLUICE_RETURN_IF_ERROR(CopyState());
  RunningMeans means;
  means.sums.resize(run_.plan.labels.size());
  const TrainData& data = run_.validation_data != nullptr ? *run_.validation_data : run_.data;
  for (int64_t batch = 0; batch < validation_->batches_per_epoch(); ++batch) {
    if (run_.cancellation.IsCancelling()) return std::vector<double>();
    const absl::Span<const int64_t> rows = validation_->Batch(0, batch);
    SLUICE_ASSIGN_OR_RETURN(const std::vector<double> values, RunBatch(validate_, data, rows));
    means.Add(values, static_cast<double>(rows.size()));
  }
  return means.Means();
}

// If training stops within an epoch, its end is shown, but the epoch is not over.
absl::Status Trainer::EndEpoch(TrainLog& log, TrainDisplay& display) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<double> validation, Validate());
  if (validation_.has_value() && validation.empty()) return absl::OkStatus();  // Interrupted: done when resumed.
  if (!validation.empty()) {
    SLUICE_RETURN_IF_ERROR(log.Add({/*is_validation=*/true, state_.step, state_.epoch + 1, validation}));
  }
  display.ShowEpoch(state_.epoch + 1, state_.step, state_.of_epoch.Means(), validation);
  if (state_.batch < order_.batches_per_epoch()) return absl::OkStatus();
  ++state_.epoch;
  state_.batch = 0;
  state_.of_epoch.Clear();
  saved_step_ = -1;  // An earlier checkpoint of this step lacks this state.
  return absl::OkStatus();
}

absl::Status Trainer::Save(TrainCheckpoints& checkpoints, const TrainLog& log) {
  SLUICE_ASSIGN_OR_RETURN(NamedTensors tensors, ReadVariables(run_.session, run_.plan.saver));
  SLUICE_ASSIGN_OR_RETURN(const NamedTensors tables, ReadTables(run_.session, run_.plan.tables));
  tensors.insert(tensors.end(), tables.begin(), tables.end());
  AppendGeneratorStates(run_.session, {train_.callable.get()}, &tensors);
  state_.AppendTo(&tensors);
  SLUICE_RETURN_IF_ERROR(checkpoints.Save(state_.step, tensors));
  saved_step_ = state_.step;
  return log.Draw();
}

}  // namespace sluice
