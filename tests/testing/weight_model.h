#ifndef SLUICE_TESTS_TESTING_WEIGHT_MODEL_H_
#define SLUICE_TESTS_TESTING_WEIGHT_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sluice {

// A frozen model of square matrices of floats: layer i is h<i> = MatMul(h<i-1>, w<i>), and x is in front of h0.
struct WeightModelShape {
  int num_layers = 4;
  int64_t side = 512;       // Of each matrix.
  size_t misalignment = 1;  // Where the elements of each begin in the file, modulo 4: any of 0 to 3.
};

// Writes one to `path`, layer by layer: no more than a few matrices are in memory. Returns the names of the constants,
// which end in as many '_' as the alignment takes. Products of numbers up to 1 stay about that size.
absl::StatusOr<std::vector<std::string>> WriteWeightModel(const std::string& path, const WeightModelShape& shape);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_WEIGHT_MODEL_H_
