#ifndef SLUICE_TOOLS_CLI_TRAIN_OPTIMIZER_OPTION_H_
#define SLUICE_TOOLS_CLI_TRAIN_OPTIMIZER_OPTION_H_

#include <optional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "graph/gradients/train_step.h"

namespace sluice {

// --optimizer and what belongs to it, as they stand on the command line. Lives in its command.
class OptimizerOption {
 public:
  // Declares --optimizer and an option for each row of the tables in optimizer_option.cc.
  void Declare(CLI::App& app);

  const std::string& name() const { return name_; }
  // Whether any of these options was given.
  bool is_given() const;
  // The step that they ask for. kValueSyntax for an unknown optimizer, with the nearest names, and for an option that
  // means nothing to it.
  absl::StatusOr<TrainStepOptions> Read() const;

 private:
  std::string name_ = "sgd";
  bool has_name_ = false;
  std::vector<std::optional<double>> numbers_;  // By row of the table.
  std::vector<char> flags_;                     // The same; not of bool, which has no addresses.
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_OPTIMIZER_OPTION_H_
