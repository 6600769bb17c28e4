#ifndef SLUICE_GRAPH_SHAPES_DIMS_H_
#define SLUICE_GRAPH_SHAPES_DIMS_H_

// Arithmetic on dimensions of which some are unknown. A result that overflows or is negative is unknown, not an error:
// the kernel that would have to make such a tensor reports it.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/base/checked_math.h"
#include "graph/value/shape.h"

namespace sluice {

// Note [Ids of sizes]
// An unknown size may have an id: a number from kLastDimId to kFirstDimId (graph/value/shape.h) in place of
// kUnknownDim. Two dimensions with one id are of the same size in every run, in the same iteration of every loop around
// both. Every unknown dimension of an output gets an id of its own, by where the output stands, so the same one at each
// inference; functions that hand a size on hand its id on, through shapes (Relu, MatMul, Transpose) and through the
// contents of integer tensors (Shape, StridedSlice, Pack, Reshape: ShapeValue::ids). Functions may ignore ids: these
// are negative, as all unknown sizes are. Two ids are never merged: that a product needs two equal sizes can be assumed
// by users of the product, but not by other users of its operands, which may run when the product does not. A broadcast
// size has an id only if both sides have the same one, or one is 1. None have: references (a variable may change its
// shape between two uses), what handles refer to, and the Merges of loops whose iterations differ.
inline constexpr int64_t kUnknownDim = -1;

// Sizes of a shape under construction, kUnknownDim where unknown.
using Dims = std::vector<int64_t>;

// `size` itself, or unknown when no dimension has that size. Removes ids: for numbers that are not dimensions of a
// tensor.
inline int64_t DimOrUnknown(int64_t size) { return size < 0 ? kUnknownDim : size; }

// Whether both are the same size: known to be equal, or of one id.
inline bool IsSameDim(int64_t a, int64_t b) { return a == b && (a >= 0 || IsDimId(a)); }

// The id of `size` if it is one, else kUnknownDim.
inline int64_t UnknownOrId(int64_t size) { return IsDimId(size) ? size : kUnknownDim; }

inline int64_t AddDims(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return a + b >= 0 ? a + b : UnknownOrId(a + b);
  int64_t sum;
  return a < 0 || b < 0 || !CheckedAdd(a, b, &sum) ? kUnknownDim : sum;
}

// A 0 makes the product 0 even when the other factor is unknown.
inline int64_t MulDims(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == 1 && b < 0) return UnknownOrId(b);
  if (b == 1 && a < 0) return UnknownOrId(a);
  int64_t product;
  return a < 0 || b < 0 || !CheckedMul(a, b, &product) ? kUnknownDim : product;
}

// a - b; unknown when b is larger.
inline int64_t SubDims(int64_t a, int64_t b) {
  if (b == 0 && a < 0) return UnknownOrId(a);
  return a < 0 || b < 0 || b > a ? kUnknownDim : a - b;
}

// a / b; unknown when it leaves a rest or b is not positive.
inline int64_t DivDims(int64_t a, int64_t b) {
  if (b == 1 && a < 0) return UnknownOrId(a);
  return a < 0 || b <= 0 || a % b != 0 ? kUnknownDim : a / b;
}

// The smaller of the two, if both are known or the same.
inline int64_t MinDims(int64_t a, int64_t b) {
  if (IsSameDim(a, b)) return a;
  return a < 0 || b < 0 ? kUnknownDim : std::min(a, b);
}

// The more precise of two sizes that must be equal: a known size, else an id.
inline int64_t EitherDim(int64_t a, int64_t b) { return a >= 0 || (b < 0 && a != kUnknownDim) ? a : b; }

// The size that two dimensions broadcast to. A known size other than 1 decides, whatever the other turns out to be; of
// unknown sizes either may be 1. *differ is set, and the result unknown, where they do not broadcast.
inline int64_t BroadcastDim(int64_t a, int64_t b, bool* differ) {
  if (a == 1) return b;
  if (b == 1 || a == b) return a;
  if (a < 0 || b < 0) return std::max(a, b) >= 0 ? std::max(a, b) : kUnknownDim;
  *differ = true;
  return kUnknownDim;
}

// Whether both are known and differ.
inline bool DimsDiffer(int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_DIMS_H_
