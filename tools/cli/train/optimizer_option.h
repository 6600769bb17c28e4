#ifndef SLUICE_TOOLS_CLI_TRAIN_OPTIMIZER_OPTION_H_
#define SLUICE_TOOLS_CLI_TRAIN_OPTIMIZER_OPTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/training/train_options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sluice {

// --optimizer, --schedule and the other options of a step. Lives in its command.
class OptimizerOption {
 public:
  // Declares these options, and one for each row of the tables in step_options.cc.
  void Declare(CLI::App& app);

  const std::string& name() const { return optimizer_; }
  // The variables that no decay and no regularization touches.
  const std::vector<std::string>& not_decayed() const { return not_decayed_; }
  // Whether any of these options was given.
  bool is_given() const;
  // Returns the step that they describe; a decay without a length ends with the last of `steps` (0: the length is
  // required). kValueSyntax, for all errors at once: an unknown optimizer or schedule, with the nearest names, and
  // options that do not apply to it or contradict each other.
  absl::StatusOr<TrainStepOptions> Read(int64_t steps) const;
  // Returns a line for each setting that the step depends on ("--lr 0.1"), given or default. Only for options that Read
  // accepts.
  std::vector<std::string> Settings(int64_t steps) const;

 private:
  std::string optimizer_ = "sgd", schedule_ = "constant", loss_scale_, rows_;
  bool has_optimizer_ = false, has_schedule_ = false;
  std::vector<std::string> rates_, not_decayed_;  // "STEP=RATE"; names.
  std::vector<std::optional<double>> numbers_;    // By row of the table.
  std::vector<char> switches_;                    // The same; not of bool, which has no addresses.
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_OPTIMIZER_OPTION_H_
