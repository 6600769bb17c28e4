#ifndef SLUICE_KERNELS_LINALG_MATMUL_CALL_H_
#define SLUICE_KERNELS_LINALG_MATMUL_CALL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_context.h"
#include "kernels/linalg/constant_weights.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/matmul_shape.h"

namespace sluice {

// What all kernels of the MatMul family do: the product of inputs 0 and 1 in output 0, whatever their dtypes.
// Part of its kernel; belongs to one node, whose constant weights it keeps. Thread-safe.
class MatMulCall {
 public:
  // `conjugate`: transposes of complex matrices are conjugated (adj_x), not plain (transpose_a).
  MatMulCall(const KernelConstruction& construction, const MatMulForm& form, bool conjugate);

  // Output 0, with its elements. Inputs of two dtypes, or of another than the output, are converted first. `epilogue`
  // (null: none) follows products of floats. REQUIRES: none where the output is not float.
  absl::StatusOr<Tensor*> Compute(KernelContext& context, const GemmEpilogue<float>* epilogue = nullptr) const;

 private:
  absl::Status MultiplyConverted(KernelContext& context, const MatMulShape& shape, const Tensor& b,
                                 Tensor* output) const;
  template <typename T>
  absl::Status MultiplyAs(KernelContext& context, const MatMulShape& shape, const Tensor& a, const Tensor& b,
                          Tensor* output, const GemmEpilogue<float>* epilogue = nullptr) const;
  PackedOperand PackedWeights(const KernelContext& context, const MatMulShape& shape, const Tensor& b) const;

  const MatMulForm form_;
  const bool conjugate_;
  const std::unique_ptr<ConstantWeights> weights_;  // Null unless input 1 is a constant.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_MATMUL_CALL_H_
