#ifndef SLUICE_TESTS_EXECUTOR_GRADIENTS_TRAIN_NUMBERS_H_
#define SLUICE_TESTS_EXECUTOR_GRADIENTS_TRAIN_NUMBERS_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// What TensorFlow computes for the problem of that name in tests/goldens/train_numbers.py.
const std::vector<double>& TrainNumbers(absl::string_view name);

// The problems' first values, gradients of six steps, and rows looked up, as they stand there.
inline const std::vector<float> kTrainStart = {1, -2, 0.5, 3};
inline const std::vector<float> kTrainRows = {1, -2, 0.5, 3, -1, 0.25};
inline const std::vector<std::vector<float>> kTrainGradients = {{0.5, -1, 2, 0.25}, {1, 1, -0.5, 0.125},
                                                                {-3, 0.5, 1, 4},    {0.25, 0.75, 0.5, -1},
                                                                {2, -2, 1, 0.5},    {0.1f, 0.2f, 0.3f, -0.4f}};
inline const std::vector<std::vector<int32_t>> kTrainLookups = {{0, 2, 0}, {1, 1, 2}, {0, 0, 0},
                                                                {2, 0, 1}, {0, 2, 2}, {2, 0, 0}};

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_GRADIENTS_TRAIN_NUMBERS_H_
