#include "kernels/random/stateless_generator.h"

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

// The key by which seeds are mixed.
constexpr uint64_t kMixingKey = 0x02461e293ec8f720;

uint64_t SeedAt(const Tensor& seed, int64_t i) {
  if (seed.dtype() == DType::kUInt64) return static_cast<const uint64_t*>(seed.raw_data())[i];
  return static_cast<uint64_t>(IndexAt(seed, i));
}

absl::Status CheckVectorThat(const KernelContext& context, int input, absl::string_view name, bool fits,
                             absl::string_view expected) {
  const Shape& shape = context.input(input).shape();
  if (shape.rank() == 1 && fits) return absl::OkStatus();
  return ShapeError(input, name, shape, expected);
}

}  // namespace

absl::StatusOr<Philox> ReadSeedGenerator(const KernelContext& context, int input) {
  const Tensor& seed = context.input(input);
  SLUICE_RETURN_IF_ERROR(CheckVectorThat(context, input, "seed", seed.num_elements() == 2, "a vector of two"));
  const Philox::Block mixed = Philox(kMixingKey, SeedAt(seed, 0), SeedAt(seed, 1)).Next();
  return Philox(mixed[0] | uint64_t{mixed[1]} << 32, 0, mixed[2] | uint64_t{mixed[3]} << 32);
}

absl::StatusOr<Philox> ReadKeyCounterGenerator(const KernelContext& context, int input) {
  const Tensor& key = context.input(input);
  const Tensor& counter = context.input(input + 1);
  SLUICE_RETURN_IF_ERROR(CheckVectorThat(context, input, "key", key.num_elements() == 1, "a vector of one"));
  SLUICE_RETURN_IF_ERROR(
      CheckVectorThat(context, input + 1, "counter", counter.num_elements() >= 2, "a vector of two or more"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t algorithm, ReadScalar(context, input + 2, "alg"));
  if (algorithm != static_cast<int64_t>(RandomAlgorithm::kPhilox) &&
      algorithm != static_cast<int64_t>(RandomAlgorithm::kAutoSelect)) {
    return ValueError(input + 2, "alg", absl::StrCat("algorithm ", algorithm),
                      "1 (Philox) or 3 (chosen by the device): others do not run on the CPU");
  }
  const uint64_t* const at = static_cast<const uint64_t*>(counter.raw_data());
  return Philox(*static_cast<const uint64_t*>(key.raw_data()), at[0], at[1]);
}

absl::Status CheckEndsWith(const Shape& shape, const Shape& parameters) {
  const int first = shape.rank() - parameters.rank();
  bool fits = first >= 0;
  for (int axis = 0; fits && axis < parameters.rank(); ++axis) fits = shape.dim(first + axis) == parameters.dim(axis);
  if (fits) return absl::OkStatus();
  return ShapesError(0, "shape", shape,
                     absl::StrCat("a shape that ends with ", parameters.ToString(), ", that of the parameters"));
}

absl::StatusOr<Shape> JoinShapes(const Shape& a, const Shape& b) {
  IndexVector dims(a.dims().begin(), a.dims().end());
  dims.insert(dims.end(), b.dims().begin(), b.dims().end());
  return MakeShape(dims);
}

}  // namespace sluice
