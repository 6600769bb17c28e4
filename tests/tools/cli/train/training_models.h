#ifndef SLUICE_TESTS_TOOLS_CLI_TRAIN_TRAINING_MODELS_H_
#define SLUICE_TESTS_TOOLS_CLI_TRAIN_TRAINING_MODELS_H_

#include <cstdint>
#include <string>

namespace sluice {

// y = x * w + b for x [?,4], with dropout of x: loss = mean((y - wanted)^2), error = mean(|y - wanted|), and scale, by
// which all of it is multiplied; loss_in_a_list is the loss as [1]. w and b begin with random numbers of a seed;
// nothing runs them but "w/Assign" and "b/Assign". A GraphDef.
std::string DropoutModel(bool states_shapes = true);

// A model with a training step of its own, "train", in a loop that never ends, for an input x [?].
std::string EndlessModel();

// Rows for DropoutModel: "x" and "wanted", which is a linear function of x.
std::string TrainingRows(int64_t count);

}  // namespace sluice

#endif  // SLUICE_TESTS_TOOLS_CLI_TRAIN_TRAINING_MODELS_H_
