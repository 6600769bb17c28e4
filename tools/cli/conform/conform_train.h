#ifndef SLUICE_TOOLS_CLI_CONFORM_CONFORM_TRAIN_H_
#define SLUICE_TOOLS_CLI_CONFORM_CONFORM_TRAIN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/graph.h"
#include "graph/training/train_step.h"
#include "nlohmann/json.hpp"

namespace sluice {

// A training step that the runner adds to the graph before the first step: the field `train` of a case.
struct ConformTraining {
  std::string loss;
  std::vector<std::string> variables;
  std::string target, init;   // The steps' names for the update and the slots' initialiser.
  std::string learning_rate;  // A tensor; empty: the number in `options`.
  std::string global_step;    // Empty: none.
  std::string optimizer;      // "adam".
  TrainStepOptions options;   // Except the optimizer's kind.
};

// Throws what nlohmann::json throws.
ConformTraining ReadTraining(const nlohmann::json& object);

// Adds them to `graph`, with nodes called `target` and `init` as the case says.
absl::Status AddCaseTraining(Graph& graph, const std::vector<ConformTraining>& training);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONFORM_CONFORM_TRAIN_H_
