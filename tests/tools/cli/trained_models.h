#ifndef SLUICE_TESTS_TOOLS_CLI_TRAINED_MODELS_H_
#define SLUICE_TESTS_TOOLS_CLI_TRAINED_MODELS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// A graph as a program of TensorFlow 1 leaves it after training: y = x * v + counter, where v is 'dense/kernel'
// (float32 [2]), which the saver under 'save/' restores, and 'counter' a local variable. 'init' gives v zeros,
// 'local_init' gives the counter 0.
std::string TrainedGraph();

// A SavedModel with TrainedGraph: signature serving_default (features -> scores) and saver. `init_op`: the node that
// the model runs for init; may be empty.
std::string TrainedSavedModelFile(absl::string_view init_op = "");

// The same as a MetaGraphDef, without a signature.
std::string TrainedMetaGraph();

// Writes a SavedModel directory whose checkpoint holds 2, 3 for v; its path.
std::string MakeTrainedModelDirectory(const std::string& name, absl::string_view init_op = "");

// The same for a model of TensorFlow 2: 'setup' calls a function that assigns zeros to the variable, and the saver is a
// call of a function that restores it.
std::string MakeTrainedModelOfFunctions(const std::string& name);

}  // namespace sluice

#endif  // SLUICE_TESTS_TOOLS_CLI_TRAINED_MODELS_H_
