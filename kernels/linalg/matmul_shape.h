#ifndef SLUICE_KERNELS_LINALG_MATMUL_SHAPE_H_
#define SLUICE_KERNELS_LINALG_MATMUL_SHAPE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "graph/value/shape.h"
#include "kernels/linalg/gemm.h"

namespace sluice {

// What a product of (stacks of) matrices comes to. A value type.
struct MatMulShape {
  GemmSize size;             // Of each product.
  int64_t num_products = 1;  // Matrices in the result.
  Shape output;
  // Which matrix of A, of B, goes into product i. Empty: the i-th.
  std::vector<int64_t> a_index;
  std::vector<int64_t> b_index;

  int64_t a_of(int64_t i) const { return a_index.empty() ? i : a_index[static_cast<size_t>(i)]; }
  int64_t b_of(int64_t i) const { return b_index.empty() ? i : b_index[static_cast<size_t>(i)]; }
};

// How the inputs of a MatMul are read, and which stacks fit each other.
struct MatMulForm {
  enum class Stacks { kNone, kEqual, kBroadcast };  // MatMul; BatchMatMul; BatchMatMulV2 and V3.
  Stacks stacks = Stacks::kNone;
  bool transpose_a = false;
  bool transpose_b = false;
};

// The product of inputs of the shapes `a` and `b`. kOpShape, kOpShapes, kOpTooLarge when there is none.
absl::Status ResolveMatMul(const MatMulForm& form, const Shape& a, const Shape& b, MatMulShape* result);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_MATMUL_SHAPE_H_
