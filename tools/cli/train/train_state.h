#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_STATE_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_STATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session/session.h"

namespace sluice {

// Sums of the fetched values over steps, weighted by rows.
struct RunningMeans {
  std::vector<double> sums;  // By label.
  double rows = 0;

  void Add(const std::vector<double>& values, double num_rows);
  std::vector<double> Means() const;
  void Clear();
};

// The position of a training, which together with the variables lets it continue as if without a break. Kept in each
// checkpoint, under names that no variable has.
struct TrainState {
  int64_t step = 0;                 // Steps done.
  int64_t epoch = 0;                // The present one, from 0 on.
  int64_t batch = 0;                // The next one of it; after the last, the end of the epoch is still due.
  RunningMeans of_epoch, of_row;    // Since the epoch began, and since the last row of the loss curve.
  std::string settings;             // A line for each setting that the order of rows depends on.
  std::string step_settings;        // A line for each that a step depends on and that may change from run to run.
  std::vector<std::string> labels;  // Of the loss and the metrics.

  explicit TrainState(std::vector<std::string> all_labels = {}) : labels(std::move(all_labels)) {
    of_epoch.sums.resize(labels.size()), of_row.sums.resize(labels.size());
  }

  // As tensors of a checkpoint.
  void AppendTo(NamedTensors* tensors) const;
  // Reads what AppendTo wrote from the tensors of a checkpoint. kCannotRun if it is missing, or has other settings or
  // labels than `expected`. kCheckpointEntry if no training with `batches` per epoch can be there.
  static absl::StatusOr<TrainState> From(const NamedTensors& tensors, const TrainState& expected, int64_t batches);
  // Returns a line for each setting of a step in which `now` differs from the checkpoint; empty if that has none.
  static std::vector<std::string> ChangesSince(const NamedTensors& tensors, const TrainState& now);
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_STATE_H_
