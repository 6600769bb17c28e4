#ifndef SLUICE_GRAPH_BASE_CHECKED_MATH_H_
#define SLUICE_GRAPH_BASE_CHECKED_MATH_H_

// Arithmetic on sizes that come from files, feeds and peers: reports overflow instead of wrapping.

#include <cstdint>

namespace sluice {

// Stores a*b (a+b, a-b) in *out and returns true, or returns false when it does not fit.
[[nodiscard]] inline bool CheckedMul(int64_t a, int64_t b, int64_t* out) { return !__builtin_mul_overflow(a, b, out); }
[[nodiscard]] inline bool CheckedAdd(int64_t a, int64_t b, int64_t* out) { return !__builtin_add_overflow(a, b, out); }
[[nodiscard]] inline bool CheckedSub(int64_t a, int64_t b, int64_t* out) { return !__builtin_sub_overflow(a, b, out); }

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_CHECKED_MATH_H_
