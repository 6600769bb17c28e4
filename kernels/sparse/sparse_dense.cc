#include <algorithm>
#include <complex>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/dispatch.h"
#include "kernels/forward_or_copy.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sparse/families.h"
#include "kernels/sparse/sparse_input.h"
#include "kernels/sparse/wide_type.h"

namespace sluice {
namespace {

// --- SparseTensorDenseAdd -----------------------------------------------------------------------------------------

// Checks the shapes of a sparse tensor whose indices are of any width against a dense one; what is sparse has its
// shape.
absl::Status CheckAgainst(const KernelContext& context, const Tensor& dense) {
  const Tensor& indices = context.input(0);
  const Tensor& values = context.input(1);
  const Tensor& sizes = context.input(2);
  bool fits = indices.rank() == 2 && values.rank() == 1 && sizes.rank() == 1 && indices.dim(0) == values.dim(0) &&
              indices.dim(1) == sizes.dim(0) && sizes.dim(0) == dense.rank();
  for (int d = 0; fits && d < dense.rank(); ++d) fits = IndexAt(sizes, d) == dense.dim(d);
  if (fits) return absl::OkStatus();
  return ShapesError(absl::StrCat("indices ", indices.shape().ToString(), ", values ", values.shape().ToString(),
                                  ", shape ", sizes.ToString(), ", dense ", dense.shape().ToString()),
                     "a sparse tensor of the dense one's shape");
}

absl::Status ComputeDenseAdd(KernelContext& context) {
  const Tensor values = context.input(1);
  SLUICE_RETURN_IF_ERROR(CheckAgainst(context, context.input(3)));
  SLUICE_ASSIGN_OR_RETURN(const Tensor positions, ReadPositions(context, 0, "a_indices", context.input(3).shape()));
  const absl::Span<const int64_t> places = positions.flat<int64_t>();
  SLUICE_RETURN_IF_ERROR(ForwardOrCopy(context, 3));
  Tensor& out = context.output_entry(0).value();
  DispatchDType<SumCppTypes>(AsUnsigned(values.dtype()), [&](auto type) {
    using T = typename decltype(type)::Type;
    T* const to = Elements<T>(out);
    for (size_t i = 0; i < places.size(); ++i) {
      T& element = to[places[i]];
      element = T(static_cast<Wide<T>>(static_cast<Wide<T>>(element) + static_cast<Wide<T>>(Elements<T>(values)[i])));
    }
  });
  return absl::OkStatus();
}

// --- SparseDenseCwise... ------------------------------------------------------------------------------------------

enum class Operation { kAdd, kMul, kDiv };

template <typename T>
T Apply(Operation operation, T a, T b) {
  using U = Wide<T>;
  const U x = static_cast<U>(a), y = static_cast<U>(b);
  if (operation == Operation::kAdd) return T(static_cast<U>(x + y));
  if (operation == Operation::kMul) {
    if constexpr (sizeof(T) < 4 && std::is_integral<T>::value) {
      return T(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));  // int would overflow.
    } else {
      return T(static_cast<U>(x * y));
    }
  }
  if constexpr (std::is_integral<T>::value && std::is_signed<T>::value) {
    return b == -1 ? static_cast<T>(static_cast<U>(0 - x)) : static_cast<T>(a / b);
  } else {
    return T(static_cast<U>(x / y));
  }
}

// Entry i with the element of a dense tensor at its place; the dense one broadcasts to the sparse one's shape.
template <Operation kOperation>
class CwiseKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kInside));
    const Tensor& dense = context.input(3);
    const int skipped = sparse.rank - dense.rank();
    bool fits = skipped >= 0;
    for (int d = 0; fits && d < dense.rank(); ++d) {
      fits = dense.dim(d) == 1 || dense.dim(d) == sparse.shape.dim(skipped + d);
    }
    if (!fits) {
      return ShapesError(absl::StrCat("dense ", dense.shape().ToString(), ", sparse ", sparse.shape.ToString()),
                         "a dense tensor that broadcasts to the sparse one");
    }
    IndexVector strides = RowMajorStrides(dense.shape());
    for (int d = 0; d < dense.rank(); ++d) {
      if (dense.dim(d) == 1) strides[static_cast<size_t>(d)] = 0;
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, Shape::Of({sparse.entries})));
    bool divides_by_zero = false;
    DispatchDType<RealCppTypes>(dense.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      for (int64_t i = 0; i < sparse.entries; ++i) {
        int64_t place = 0;
        for (int d = 0; d < dense.rank(); ++d) place += sparse.at(i)[skipped + d] * strides[static_cast<size_t>(d)];
        const T divisor = Elements<T>(dense)[place];
        if constexpr (std::is_integral<T>::value && kOperation == Operation::kDiv) {
          divides_by_zero |= divisor == 0;
          if (divisor == 0) continue;
        }
        Elements<T>(*out)[i] = Apply(kOperation, Elements<T>(*sparse.values)[i], divisor);
      }
    });
    if (!divides_by_zero) return absl::OkStatus();
    return Error(ErrorCode::kOpValue).Input(3, "dense").Text("is 0 at an entry: integers cannot be divided by it");
  }
};

// --- SparseTensorDenseMatMul --------------------------------------------------------------------------------------

// Entry i of the sparse matrix as the product sees it.
struct MatrixEntries {
  const Tensor& indices;
  bool is_transposed;

  int64_t row(int64_t i) const { return IndexAt(indices, 2 * i + (is_transposed ? 1 : 0)); }
  int64_t column(int64_t i) const { return IndexAt(indices, 2 * i + (is_transposed ? 0 : 1)); }
};

template <typename T>
T Conjugate(T value) {
  return value;
}
template <typename T>
std::complex<T> Conjugate(std::complex<T> value) {
  return std::conj(value);
}

// A sparse matrix times a dense one. Every thread has columns of its own, so that each sum is made in the order of the
// entries; 16-bit floats are added up as float.
class MatMulKernel : public Kernel {
 public:
  MatMulKernel(bool adjoint_a, bool adjoint_b) : adjoint_a_(adjoint_a), adjoint_b_(adjoint_b) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const bool a, construction.Get<bool>("adjoint_a"));
    SLUICE_ASSIGN_OR_RETURN(const bool b, construction.Get<bool>("adjoint_b"));
    return std::make_unique<MatMulKernel>(a, b);
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Sizes sizes, ReadSizes(context));
    const MatrixEntries entries{context.input(0), adjoint_a_};
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({sizes.rows, sizes.columns}));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();  // Whatever the entries say, as in TensorFlow.
    SLUICE_RETURN_IF_ERROR(CheckEntries(entries, sizes));
    absl::Status status;
    DispatchDType<MatrixTypes>(out->dtype() == DType::kInt32 ? DType::kUInt32 : out->dtype(), [&](auto type) {
      status = Multiply<typename decltype(type)::Type>(context, entries, sizes, *out);
    });
    return status;
  }

 private:
  using MatrixTypes = TypeList<float, double, Half, BFloat16, uint32_t, std::complex<float>, std::complex<double>>;
  struct Sizes {
    int64_t entries = 0, rows = 0, inner = 0, columns = 0;
  };

  absl::StatusOr<Sizes> ReadSizes(const KernelContext& context) const {
    const Tensor& indices = context.input(0);
    const Tensor& values = context.input(1);
    const Tensor& dense = context.input(3);
    SLUICE_ASSIGN_OR_RETURN(const IndexVector shape, ReadIndexVector(context, 2, "a_shape"));
    const bool fits = indices.rank() == 2 && indices.dim(1) == 2 && values.rank() == 1 && shape.size() == 2 &&
                      dense.rank() == 2 && indices.dim(0) == values.dim(0);
    if (!fits) {
      return ShapesError(
          absl::StrCat("a_indices ", indices.shape().ToString(), ", a_values ", values.shape().ToString(),
                       ", a_shape of ", shape.size(), ", b ", dense.shape().ToString()),
          "two matrices: [entries, 2], [entries], 2 sizes, and one of rank 2");
    }
    const Sizes sizes{values.dim(0), shape[adjoint_a_ ? 1 : 0], shape[adjoint_a_ ? 0 : 1],
                      dense.dim(adjoint_b_ ? 0 : 1)};
    if (sizes.rows < 0 || sizes.inner != dense.dim(adjoint_b_ ? 1 : 0)) {
      return ShapesError(absl::StrCat("a_shape [", shape[0], ",", shape[1], "], b ", dense.shape().ToString()),
                         "equal inner sizes");
    }
    return sizes;
  }

  static absl::Status CheckEntries(const MatrixEntries& entries, const Sizes& sizes) {
    for (int64_t i = 0; i < sizes.entries; ++i) {
      const int64_t row = entries.row(i), column = entries.column(i);
      if (row >= 0 && row < sizes.rows && column >= 0 && column < sizes.inner) continue;
      return ValueError(0, "a_indices", absl::StrCat("row ", row, ", column ", column, " in entry ", i),
                        absl::StrCat("a place in a matrix of ", sizes.rows, " x ", sizes.inner));
    }
    return absl::OkStatus();
  }

  template <typename T>
  absl::Status Multiply(KernelContext& context, const MatrixEntries& entries, const Sizes& sizes, Tensor& out) const {
    using U = Wide<T>;
    const Tensor& values = context.input(1);
    const Tensor& dense = context.input(3);
    // Sums of 16-bit floats and a transposed matrix need temporary memory.
    Tensor sums;
    if (!std::is_same<T, U>::value) {
      SLUICE_ASSIGN_OR_RETURN(sums, context.AllocateTemp(DTypeOf<U>::value, out.shape()));
    }
    U* const to = Elements<U>(std::is_same<T, U>::value ? out : sums);
    Tensor turned = dense;
    if (adjoint_b_) {
      SLUICE_ASSIGN_OR_RETURN(turned, ConjugateTranspose<T>(context, dense));
    }
    const T* const from = Elements<T>(std::as_const(turned));
    constexpr int64_t kColumns = 64;
    const int64_t columns = sizes.columns, blocks = (columns + kColumns - 1) / kColumns;
    const double block_ns =
        static_cast<double>(sizes.entries) * (8 + 0.5 * static_cast<double>(std::min(columns, kColumns)));
    context.ParallelFor(blocks, block_ns, [&](int64_t begin, int64_t end) {
      const int64_t left = begin * kColumns, right = std::min(columns, end * kColumns);
      for (int64_t row = 0; row < sizes.rows; ++row)
        std::fill(to + row * columns + left, to + row * columns + right, U(0));
      for (int64_t i = 0; i < sizes.entries; ++i) {
        const T value = Elements<T>(values)[i];
        const U factor = static_cast<U>(adjoint_a_ ? Conjugate(value) : value);
        const T* const b = from + entries.column(i) * columns;
        U* const sum = to + entries.row(i) * columns;
        for (int64_t k = left; k < right; ++k) sum[k] = static_cast<U>(sum[k] + factor * static_cast<U>(b[k]));
      }
    });
    if constexpr (!std::is_same<T, U>::value) {
      for (int64_t i = 0; i < out.num_elements(); ++i) Elements<T>(out)[i] = T(to[i]);
    }
    return absl::OkStatus();
  }

  // The conjugate transpose of a matrix.
  template <typename T>
  static absl::StatusOr<Tensor> ConjugateTranspose(KernelContext& context, const Tensor& matrix) {
    const int64_t rows = matrix.dim(0), columns = matrix.dim(1);
    SLUICE_ASSIGN_OR_RETURN(Tensor turned, context.AllocateTemp(matrix.dtype(), Shape::Of({columns, rows})));
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t r = 0; r < rows; ++r)
        Elements<T>(turned)[c * rows + r] = Conjugate(Elements<T>(matrix)[r * columns + c]);
    }
    return turned;
  }

  const bool adjoint_a_, adjoint_b_;
};

constexpr DTypeSet kMatrixTypes = kFloatTypes | kComplexTypes | DTypeSet{DType::kInt32};

constexpr KernelRow kRows[] = {
    KernelRow("SparseTensorDenseAdd", &Call<ComputeDenseAdd>).Types("T", kNumberTypes),
    KernelRow("SparseDenseCwiseAdd", &New<CwiseKernel<Operation::kAdd>>).Types("T", kRealTypes),
    KernelRow("SparseDenseCwiseMul", &New<CwiseKernel<Operation::kMul>>).Types("T", kRealTypes),
    KernelRow("SparseDenseCwiseDiv", &New<CwiseKernel<Operation::kDiv>>).Types("T", kRealTypes),
    KernelRow("SparseTensorDenseMatMul", &New<MatMulKernel>).Types("T", kMatrixTypes),
};

}  // namespace

absl::Span<const KernelRow> SparseDenseKernels() { return kRows; }

}  // namespace sluice
