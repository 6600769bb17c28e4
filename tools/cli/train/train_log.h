#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_LOG_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/cli/train/event_file.h"
#include "tools/cli/train/loss_curve.h"

namespace sluice {

// Writes the course of a training: loss.csv, loss.svg, and TensorBoard's events in train/ and validation/. A row is in
// the files when Add returns. Movable. One thread's at a time.
class TrainLog {
 public:
  struct Options {
    std::string directory;
    std::vector<std::string> labels;  // "loss", then the metrics'.
    std::string title;                // Of the drawing.
    int64_t step = 0;                 // Training continues after this one: later rows are of lost steps.
    bool is_resumed = false;          // False: replaces existing files.
    bool has_events = true;
  };
  // kFileWrite; kFileText for a loss.csv of another training.
  static absl::StatusOr<TrainLog> Open(Options options);

  absl::Status Add(CurveRow row);
  // Draws the curve so far.
  absl::Status Draw() const;

  const std::vector<CurveRow>& rows() const { return rows_; }
  std::string csv_path() const { return options_.directory + "/loss.csv"; }
  std::string svg_path() const { return options_.directory + "/loss.svg"; }

 private:
  explicit TrainLog(Options options) : options_(std::move(options)) {}
  absl::Status Rewrite();

  Options options_;
  std::vector<CurveRow> rows_;
  std::optional<EventFile> train_, validation_;  // Made with their first rows.
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_LOG_H_
