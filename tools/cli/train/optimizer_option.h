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

// --optimizer, --schedule and what else says what a step does, as they stand on the command line. Lives in its command.
class OptimizerOption {
 public:
  // Declares these options, and one for each row of the tables in step_options.cc.
  void Declare(CLI::App& app);

  const std::string& name() const { return optimizer_; }
  // The variables that no decay and no regularization touches.
  const std::vector<std::string>& not_decayed() const { return not_decayed_; }
  // Whether any of these options was given.
  bool is_given() const;
  // The step that they ask for; a decay ends with the last of `steps`, unless they say when (0: they have to).
  // kValueSyntax for an unknown optimizer or schedule, with the nearest names, and for options that mean nothing to it
  // or contradict each other: all that is wrong, at once.
  absl::StatusOr<TrainStepOptions> Read(int64_t steps) const;
  // What the step depends on, a line for each setting that means something to it: "--lr 0.1", whether it was given or
  // is the usual value. Only for options that Read takes.
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
