#ifndef SLUICE_GRAPH_SHAPES_DIMS_H_
#define SLUICE_GRAPH_SHAPES_DIMS_H_

// Arithmetic on dimensions of which some are unknown. Whatever overflows or turns negative is unknown, not an error:
// the op that would have to make such a tensor says so itself.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/base/checked_math.h"

namespace sluice {

inline constexpr int64_t kUnknownDim = -1;

// Sizes of a shape under construction, kUnknownDim where unknown.
using Dims = std::vector<int64_t>;

// `size` itself, or unknown when no dimension has that size.
inline int64_t DimOrUnknown(int64_t size) { return size < 0 ? kUnknownDim : size; }

inline int64_t AddDims(int64_t a, int64_t b) {
  int64_t sum;
  return a < 0 || b < 0 || !CheckedAdd(a, b, &sum) ? kUnknownDim : sum;
}

// A 0 makes the product 0 even when the other factor is unknown.
inline int64_t MulDims(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t product;
  return a < 0 || b < 0 || !CheckedMul(a, b, &product) ? kUnknownDim : product;
}

// a - b; unknown when b is larger.
inline int64_t SubDims(int64_t a, int64_t b) { return a < 0 || b < 0 || b > a ? kUnknownDim : a - b; }

// a / b; unknown when it leaves a rest or b is not positive.
inline int64_t DivDims(int64_t a, int64_t b) { return a < 0 || b <= 0 || a % b != 0 ? kUnknownDim : a / b; }

// The smaller of the two, if both are known.
inline int64_t MinDims(int64_t a, int64_t b) { return a < 0 || b < 0 ? kUnknownDim : std::min(a, b); }

// The known one of two sizes that must be equal.
inline int64_t EitherDim(int64_t a, int64_t b) { return a >= 0 ? a : b; }

// Whether both are known and differ.
inline bool DimsDiffer(int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_DIMS_H_
