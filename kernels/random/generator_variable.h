#ifndef SLUICE_KERNELS_RANDOM_GENERATOR_VARIABLE_H_
#define SLUICE_KERNELS_RANDOM_GENERATOR_VARIABLE_H_

// Generators that are kept in variables: a vector of int64 that begins with the two halves of the counter and the key.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/kernel_context.h"
#include "kernels/random/philox.h"

namespace sluice {

// How many numbers of the variable the generator takes.
constexpr int64_t kGeneratorState = 3;

// kOpShape unless input `input`, called `name`, is a scalar; kOpValue or kOpUnimplemented unless the number in it is
// that of an algorithm that runs here.
absl::Status CheckAlgorithm(const KernelContext& context, int input, absl::string_view name);
// The same where only Philox's own number will do.
absl::Status CheckPhilox(const KernelContext& context, int input, absl::string_view name);

// The generator in the variable behind input 0, as it is before the next `blocks` blocks become the caller's.
absl::StatusOr<Philox> TakeFromVariable(const KernelContext& context, uint64_t blocks);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_GENERATOR_VARIABLE_H_
