#ifndef SLUICE_TESTS_TESTING_HOSTILE_VALUES_H_
#define SLUICE_TESTS_TESTING_HOSTILE_VALUES_H_

// Values that kernels and readers tend to stumble over, the same for the same seed.

#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "graph/value/allocator.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"

namespace sluice {

// Numbers from a seed, equal on every machine (the distributions of the standard library are not).
// A value type; not thread-safe.
class FuzzRandom {
 public:
  explicit FuzzRandom(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15u + 1) {}

  uint64_t Next() { return engine_(); }
  // Below `limit`; 0 for 0.
  uint64_t Below(uint64_t limit) { return limit == 0 ? 0 : engine_() % limit; }
  int Int(int limit) { return static_cast<int>(Below(static_cast<uint64_t>(limit))); }
  // True one time of `n`.
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  template <typename Container>
  auto& Pick(Container&& items) {
    return items[Below(std::size(items))];
  }

 private:
  std::mt19937_64 engine_;
};

// An integer that some size or index check may have forgotten: mostly small ones about 0, and limits of 31, 32, 63
// bits.
int64_t HostileInt(FuzzRandom& random);
// A small count or an extreme one.
float HostileFloat(FuzzRandom& random);
// How elements of a hostile tensor are chosen.
enum class ElementKind : uint8_t {
  kSmall,    // 0, 1, 2, 3: indices, sizes and axes that are often right.
  kSigned,   // -3 to 3.
  kExtreme,  // HostileInt, HostileFloat: NaN, infinities, limits; long and binary strings.
};
inline constexpr ElementKind kElementKinds[] = {ElementKind::kSmall, ElementKind::kSigned, ElementKind::kExtreme};

// A tensor of `dtype` and `shape` with elements of a kind; zero elements of resources and variants are empty handles.
// REQUIRES: IsSupported(dtype), few elements.
Tensor HostileTensor(DType dtype, const Shape& shape, ElementKind kind, FuzzRandom& random,
                     Allocator& allocator = HostAllocator());
// Of a random small shape: scalars, vectors, empty ones, matrices, higher ranks.
Shape HostileShape(FuzzRandom& random);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_HOSTILE_VALUES_H_
