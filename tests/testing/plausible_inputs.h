#ifndef SLUICE_TESTS_TESTING_PLAUSIBLE_INPUTS_H_
#define SLUICE_TESTS_TESTING_PLAUSIBLE_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"

namespace sluice {

// What an input is to an op that updates a variable.
enum class InputRole {
  kSlot,  // The variable, or one of its shape.
  kScalar,
  kGradient,      // Of the variable's shape.
  kGradientRows,  // A row for each index.
  kIndices,
};

// Draws inputs whose shapes and elements belong together often enough that nearly every op soon gets some that it
// accepts: axes and permutations among them, sizes, pairs, biases. The same for the same seed. Not thread-safe.
class PlausibleInputs {
 public:
  explicit PlausibleInputs(uint32_t seed) : random_(seed) {}
  // A tensor of given shape.
  Tensor DrawOne(DType dtype, const Shape& shape) { return RandomInput(dtype, shape); }

  // One tensor for each dtype, around one of many elements where `is_large`. REQUIRES: neither resources nor variants.
  std::vector<Tensor> Draw(absl::Span<const DType> dtypes, bool is_large);
  // The same for an op that updates a variable: a role for each dtype.
  std::vector<Tensor> DrawUpdate(absl::Span<const DType> dtypes, absl::Span<const InputRole> roles, bool is_large);
  // The same with the shapes of all. REQUIRES: as many of them.
  std::vector<Tensor> DrawShaped(absl::Span<const DType> dtypes, absl::Span<const Shape> shapes);

 private:
  // How the shapes of a call's inputs belong together; all other numbers: they do not.
  enum class ShapePattern {
    kScalars,  // The first is large, the others scalars.
    kVectors,  // The others have an element for each dimension of the first.
    kBlocks,   // As SpaceToBatchND takes them for two dimensions.
    kPairs,    // The others are matrices of two pairs.
    kBias,     // All alike, but the last a vector of the last dimension.
    kAxis,     // The first is a scalar; the others are alike, also in their elements.
  };

  Shape ShapeOfInput(size_t input, size_t num_inputs, const Shape& main, ShapePattern pattern);
  Shape RandomShape(const Shape& main);
  Tensor RandomInput(DType dtype, const Shape& shape);

  std::mt19937 random_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_PLAUSIBLE_INPUTS_H_
