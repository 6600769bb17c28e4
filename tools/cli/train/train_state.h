#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_STATE_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_STATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session/session.h"

namespace sluice {

// Sums over steps of what is fetched, each step counted by its rows.
struct RunningMeans {
  std::vector<double> sums;  // By label.
  double rows = 0;

  void Add(const std::vector<double>& values, double num_rows);
  std::vector<double> Means() const;
  void Clear();
};

// Where training is, beside the values of variables: what makes the steps after a break those that would have come
// without it. Stands in each checkpoint, under names that no variable has.
struct TrainState {
  int64_t step = 0;   // Steps done.
  int64_t epoch = 0;  // The present one, from 0 on.
  int64_t batch = 0;  // The next one of it; as many as it has: all are done, what comes at the end of an epoch is not.
  RunningMeans of_epoch, of_row;    // Since the epoch began, and since the last row of the loss curve.
  std::string settings;             // A line for each setting that the order of rows depends on.
  std::string step_settings;        // A line for each that a step depends on and that may change from run to run.
  std::vector<std::string> labels;  // Of the loss and the metrics.

  explicit TrainState(std::vector<std::string> all_labels = {}) : labels(std::move(all_labels)) {
    of_epoch.sums.resize(labels.size()), of_row.sums.resize(labels.size());
  }

  // As tensors of a checkpoint.
  void AppendTo(NamedTensors* tensors) const;
  // What AppendTo wrote, from all tensors of a checkpoint. kCannotRun where it is not there, or is that of a training
  // with other settings or labels: `expected` says which. kCheckpointEntry where it is a place that no training of
  // `batches` per epoch has.
  static absl::StatusOr<TrainState> From(const NamedTensors& tensors, const TrainState& expected, int64_t batches);
  // What `now` says otherwise about a step than the checkpoint does, a line for each setting; empty where that does not
  // say.
  static std::vector<std::string> ChangesSince(const NamedTensors& tensors, const TrainState& now);
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_STATE_H_
