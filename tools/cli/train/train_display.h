#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_DISPLAY_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_DISPLAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tools/cli/console/console.h"

namespace sluice {

// "0:42", "1:02:03".
std::string ClockText(absl::Duration time);
// "[========>     ]  57 %".
std::string BarText(double share);

// Shows the progress of a training: a bar with rate and remaining time on a terminal, a line every ten seconds
// elsewhere; and a table on standard output, with a line for each epoch. Borrows the console. Not thread-safe.
class TrainDisplay {
 public:
  // `with_table`: false if standard output is one document.
  TrainDisplay(Console& console, std::vector<std::string> labels, bool has_validation, bool with_table);

  // `step` of `last_step` is done; this process began after `first_step`. `now` for tests.
  void ShowStep(int64_t step, int64_t first_step, int64_t last_step, int64_t epoch, double loss, absl::Time now);
  // The end of an epoch (from 1 on). `validation` may be empty.
  void ShowEpoch(int64_t epoch, int64_t step, const std::vector<double>& train, const std::vector<double>& validation);
  void End() { console_.EndProgress(); }

 private:
  Console& console_;
  const std::vector<std::string> labels_;
  const bool has_validation_, with_table_;
  const bool is_terminal_;  // Standard error.
  bool has_header_ = false;
  absl::Time began_, shown_;
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_DISPLAY_H_
