#ifndef SLUICE_KERNELS_LINALG_PRODUCTS_H_
#define SLUICE_KERNELS_LINALG_PRODUCTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/kernel_context.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/gemm_plugin.h"
#include "kernels/linalg/matmul_shape.h"

namespace sluice {

// All the products of one call of a kernel: C_i = op(A_a(i)) * op(B_b(i)), matrices in row-major order one behind the
// other. Borrowed.
template <typename T>
struct Products {
  const MatMulShape* shape = nullptr;
  MatMulForm form;  // Transposes are conjugated, too, where `conjugate` is set (complex T).
  bool conjugate = false;
  const T* a = nullptr;
  const T* b = nullptr;
  T* c = nullptr;
  const GemmEpilogue<T>* epilogue = nullptr;  // Of each product; MultiplyFloats only.
};

// The only B of some products, in another order. Borrowed.
struct PackedOperand {
  const void* data = nullptr;                // Null: none.
  const SluiceGemmProduct* order = nullptr;  // The plug-in's; null: PackedGemm's.
};

// Carries them out on the threads of the run. RESOURCE_EXHAUSTED when memory for packed parts is short.
// float and double: own tiles (gemm.h), or the plug-in's for floats. products.b may be null where there is a packed_b
// in PackedGemm's order.
template <typename T>
absl::Status MultiplyFloats(KernelContext& context, const Products<T>& products, const PackedOperand& packed_b);

// Integers, which wrap around, and complex numbers: plain loops.
template <typename T>
absl::Status MultiplyPlain(KernelContext& context, const Products<T>& products);

// Whether one product of this size is worth a call of the plug-in.
bool IsForPlugin(const GemmSize& size);

// Whether products of this size gain from a packed B.
bool GainsFromPacking(const MatMulShape& shape, bool transpose_b);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_PRODUCTS_H_
