// SparseMatMul: a product of matrices; attrs say that one has many zeros.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "graph/base/status_macros.h"
#include "graph/value/tensor.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/linalg/families.h"
#include "kernels/linalg/float_cast.h"
#include "kernels/linalg/matmul_call.h"
#include "kernels/linalg/matmul_shape.h"

namespace sluice {
namespace {

// Whether `bits` are those of an infinity or of no number, of float or (where Bits has 16) of bfloat16.
template <typename Bits>
bool IsEndless(Bits bits) {
  constexpr Bits kExponent = static_cast<Bits>(sizeof(Bits) == 4 ? 0x7f800000u : 0x7f80u);
  return (bits & kExponent) == kExponent;
}

template <typename Bits>
bool AnyEndless(const Tensor& tensor) {
  const Bits* const bits = static_cast<const Bits*>(tensor.raw_data());
  constexpr int64_t kBlock = 1024;  // Without a way out, so that it goes by vectors.
  for (int64_t begin = 0; begin < tensor.num_elements(); begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, tensor.num_elements());
    bool any = false;
    for (int64_t i = begin; i < end; ++i) any |= IsEndless(bits[i]);
    if (any) return true;
  }
  return false;
}

bool IsFinite(const Tensor& tensor) {
  return tensor.dtype() == DType::kFloat ? !AnyEndless<uint32_t>(tensor) : !AnyEndless<uint16_t>(tensor);
}

// A matrix of floats, or its transpose.
struct Matrix {
  const float* data;
  int64_t row_step, column_step;

  Matrix(const Tensor& tensor, bool is_transposed)
      : data(tensor.flat<float>().data()),
        row_step(is_transposed ? 1 : tensor.dim(1)),
        column_step(is_transposed ? tensor.dim(1) : 1) {}
  float at(int64_t row, int64_t column) const { return data[row * row_step + column * column_step]; }
};

// The product without what zeros of A (`in_a`), or of B, would give.
void MultiplyWithoutZeros(const KernelContext& context, const GemmSize& size, const Matrix& a, const Matrix& b,
                          bool in_a, float* c) {
  constexpr double kProductNs = 1;
  const double row_ns = kProductNs * static_cast<double>(size.n) * static_cast<double>(size.k);
  context.ParallelFor(size.m, row_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* const row = c + i * size.n;
      std::fill_n(row, size.n, 0.0f);
      for (int64_t p = 0; p < size.k; ++p) {
        const float x = a.at(i, p);
        if (in_a && x == 0) continue;
        for (int64_t j = 0; j < size.n; ++j) {
          const float y = b.at(p, j);
          if (in_a || y != 0) row[j] += x * y;
        }
      }
    }
  });
}

// SparseMatMul. a_is_sparse and b_is_sparse only make it skip the zeros of the marked matrix (of A if both are marked),
// so that 0 * inf adds nothing; without infinities and NaN the result equals a dense product. Immutable; thread-safe.
class SparseMatMulKernel : public Kernel {
 public:
  SparseMatMulKernel(const KernelConstruction& construction, const MatMulForm& form, bool a_is_sparse, bool b_is_sparse)
      : call_(construction, form, /*conjugate=*/false),
        form_(form),
        a_is_sparse_(a_is_sparse),
        b_is_sparse_(b_is_sparse) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    MatMulForm form;
    SLUICE_ASSIGN_OR_RETURN(form.transpose_a, construction.Get<bool>("transpose_a"));
    SLUICE_ASSIGN_OR_RETURN(form.transpose_b, construction.Get<bool>("transpose_b"));
    SLUICE_ASSIGN_OR_RETURN(const bool a_is_sparse, construction.Get<bool>("a_is_sparse"));
    SLUICE_ASSIGN_OR_RETURN(const bool b_is_sparse, construction.Get<bool>("b_is_sparse"));
    return std::make_unique<SparseMatMulKernel>(construction, form, a_is_sparse, b_is_sparse);
  }

  absl::Status Compute(KernelContext& context) const override {
    MatMulShape shape;
    SLUICE_RETURN_IF_ERROR(ResolveMatMul(form_, context.input(0).shape(), context.input(1).shape(), &shape));
    if (!a_is_sparse_ && !b_is_sparse_) return call_.Compute(context).status();
    if (IsFinite(context.input(a_is_sparse_ ? 1 : 0))) return call_.Compute(context).status();
    SLUICE_ASSIGN_OR_RETURN(const Tensor a, Floats(context, 0));
    SLUICE_ASSIGN_OR_RETURN(const Tensor b, Floats(context, 1));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape.output));
    MultiplyWithoutZeros(context, shape.size, Matrix(a, form_.transpose_a), Matrix(b, form_.transpose_b), a_is_sparse_,
                         output->flat<float>().data());
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<Tensor> Floats(KernelContext& context, int i) {
    if (context.input_type(i) == DType::kFloat) return context.input(i);
    return ToFloats(context.input(i), context.allocator());
  }

  const MatMulCall call_;
  const MatMulForm form_;
  const bool a_is_sparse_, b_is_sparse_;
};

constexpr DTypeSet kTypes{DType::kFloat, DType::kBFloat16};
constexpr TypeConstraint kOperands[] = {{"Ta", kTypes}, {"Tb", kTypes}};

constexpr KernelRow kRows[] = {KernelRow("SparseMatMul", &SparseMatMulKernel::Make).AllTypes(kOperands)};

}  // namespace

absl::Span<const KernelRow> SparseMatMulKernels() { return kRows; }

}  // namespace sluice
