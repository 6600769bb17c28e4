#ifndef SLUICE_KERNELS_LINALG_MATMUL_SHAPE_H_
#define SLUICE_KERNELS_LINALG_MATMUL_SHAPE_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/value/shape.h"
#include "kernels/linalg/gemm.h"

namespace sluice {

// Which matrix of a stack goes into which product. A value type; takes no memory that grows with the stack.
class StackIndex {
 public:
  StackIndex() = default;  // Matrix i goes into product i.
  // For a stack of `input` sizes, whose ones are repeated for a stack of `output` sizes. REQUIRES: as many of them.
  StackIndex(absl::Span<const int64_t> input, absl::Span<const int64_t> output);

  // The number of the matrix for product `i`.
  int64_t operator()(int64_t i) const {
    if (is_plain_) return i;
    int64_t matrix = 0;
    for (const Axis& axis : axes_) {
      matrix += i % axis.size * axis.step;
      i /= axis.size;
    }
    return matrix;
  }
  // How many matrices the stack has, for `num_products` products.
  int64_t num_matrices(int64_t num_products) const { return is_plain_ ? num_products : num_matrices_; }

 private:
  struct Axis {
    int64_t size;
    int64_t step;
  };

  bool is_plain_ = true;
  int64_t num_matrices_ = 1;
  absl::InlinedVector<Axis, 4> axes_;  // The last axis first; none where one matrix goes into all products.
};

// The sizes of a product of (stacks of) matrices. A value type.
struct MatMulShape {
  GemmSize size;             // Of each product.
  int64_t num_products = 1;  // Matrices in the result.
  Shape output;
  // Which matrix of A, of B, goes into product i.
  StackIndex a_of;
  StackIndex b_of;
};

// How the inputs of a MatMul are read, and which stacks fit each other.
struct MatMulForm {
  enum class Stacks { kNone, kEqual, kBroadcast };  // MatMul; BatchMatMul; BatchMatMulV2 and V3.
  Stacks stacks = Stacks::kNone;
  bool transpose_a = false;
  bool transpose_b = false;
};

// The product of inputs of the shapes `a` and `b`. kOpShape, kOpShapes or kOpTooLarge if they cannot be multiplied.
absl::Status ResolveMatMul(const MatMulForm& form, const Shape& a, const Shape& b, MatMulShape* result);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_MATMUL_SHAPE_H_
