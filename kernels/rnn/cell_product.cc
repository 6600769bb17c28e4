#include "kernels/rnn/cell_product.h"

#include <algorithm>

#include "graph/base/status_macros.h"
#include "kernels/linalg/matmul_shape.h"
#include "kernels/linalg/products.h"

namespace sluice {

absl::Status Multiply(KernelContext& context, const CellProduct& product, float* c) {
  const GemmSize& size = product.size;
  if (size.m == 0 || size.n == 0) return absl::OkStatus();
  if (size.k == 0) {
    std::fill_n(c, size.m * size.n, 0.0f);
    return absl::OkStatus();
  }
  MatMulShape shape;
  shape.size = size;
  Products<float> products;
  products.shape = &shape;
  products.form.transpose_a = product.transpose_a;
  products.form.transpose_b = product.transpose_b;
  products.a = product.a;
  products.b = product.b;
  products.c = c;
  PackedOperand packed;
  if (product.packed_b != nullptr && product.packed_b->has_value()) packed.data = product.packed_b->data();
  return MultiplyFloats<float>(context, products, packed);
}

absl::StatusOr<PackedMatrix> PackForSteps(KernelContext& context, const Tensor& matrix, const PackedLayout& layout,
                                          int64_t rows_of_a, int64_t num_products) {
  MatMulShape shape;
  shape.size = {rows_of_a, layout.cols, layout.rows};
  if (num_products < 2 || layout.rows == 0 || !GainsFromPacking(shape, layout.transposed)) return PackedMatrix();
  return PackedMatrix::Pack(matrix, layout, context.allocator());
}

}  // namespace sluice
