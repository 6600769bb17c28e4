#ifndef SLUICE_KERNELS_RANDOM_STATELESS_GENERATOR_H_
#define SLUICE_KERNELS_RANDOM_STATELESS_GENERATOR_H_

// Generators that come with each call, of ops without state.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"
#include "kernels/random/philox.h"

namespace sluice {

// Numbers of algorithms in graphs.
enum class RandomAlgorithm : int64_t { kPhilox = 1, kThreeFry = 2, kAutoSelect = 3 };

// From the two numbers in input `input`, called "seed", to a generator: they are mixed, so that any two will do.
// kOpShape unless there are two in a vector.
absl::StatusOr<Philox> ReadSeedGenerator(const KernelContext& context, int input);

// Reads the inputs key, counter and alg, starting at input `input`. kOpShape or kOpValue unless the algorithm is
// Philox's, the key has one number and the counter at least two, of which the first two are used.
absl::StatusOr<Philox> ReadKeyCounterGenerator(const KernelContext& context, int input);

// kOpShapes unless the last sizes of `shape`, input 0, are those of the parameters.
absl::Status CheckEndsWith(const Shape& shape, const Shape& parameters);

// The sizes of `a` followed by those of `b`; kOpTooLarge when these are too many.
absl::StatusOr<Shape> JoinShapes(const Shape& a, const Shape& b);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_STATELESS_GENERATOR_H_
