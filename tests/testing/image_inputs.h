#ifndef SLUICE_TESTS_TESTING_IMAGE_INPUTS_H_
#define SLUICE_TESTS_TESTING_IMAGE_INPUTS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/value/dtype.h"
#include "graph/value/tensor.h"
#include "tests/testing/plausible_inputs.h"

namespace sluice {

// Draws inputs for ops over images and volumes, whose shapes must agree as chance hardly ever makes them: gradients of
// pooling, normalisation of channels, losses of rows. The same for the same seed. Not thread-safe.
class ImageInputs {
 public:
  explicit ImageInputs(uint32_t seed) : random_(seed) {}

  // One tensor for each of `dtypes`, elements from `elements`. Nothing for an op that needs no help, and now and then
  // for the others, so that they are refused some.
  std::vector<Tensor> Draw(const std::string& op, absl::Span<const DType> dtypes, bool is_large,
                           PlausibleInputs* elements);

 private:
  std::mt19937 random_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_IMAGE_INPUTS_H_
