// The losses of classifiers: the cross entropy of rows of logits with given probabilities or a given class, and its
// gradient with respect to the logits.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/math/float_loops.h"
#include "kernels/new_kernel.h"
#include "kernels/nn/families.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Nanoseconds for a class of a row, for the cut into parts.
constexpr double kClassNs = 2.5;

// `out` = the logarithms of the softmax of `x`. `out` may be `x`.
void LogSoftmaxOf(const float* x, float* out, int64_t n) { BestFloatLoops().log_softmax(x, out, n); }
void LogSoftmaxOf(const double* x, double* out, int64_t n) {
  double maximum = -INFINITY;
  for (int64_t i = 0; i < n; ++i) maximum = x[i] > maximum ? x[i] : maximum;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    out[i] = x[i] - maximum;
    sum += std::exp(out[i]);
  }
  const double log_sum = std::log(sum);
  for (int64_t i = 0; i < n; ++i) out[i] -= log_sum;
}

template <typename T>
void ExpInPlace(T* x, int64_t n) {
  UnaryLoopsFor<ExpOp, T>().loop(x, x, n);
}

// A matrix of T whose rows are read as rows of C: as they lie, converted, or repeated where the matrix is broadcast.
template <typename T, typename C>
struct MatrixRows {
  const T* data;
  int64_t row_stride;  // 0 where one row stands for all.
  int64_t column_stride;
  int64_t columns;

  bool NeedsCopy() const { return !std::is_same<T, C>::value || column_stride == 0; }
  // Row `row`, in `copy` where it does not lie there as it is needed.
  const C* Row(int64_t row, C* copy) const {
    const T* const from = data + row * row_stride;
    if constexpr (std::is_same<T, C>::value) {
      if (column_stride != 0) return from;
    }
    if (column_stride == 0) {
      std::fill_n(copy, columns, static_cast<C>(*from));
    } else {
      for (int64_t i = 0; i < columns; ++i) copy[i] = static_cast<C>(from[i]);
    }
    return copy;
  }
};

// One call: losses and gradients of `rows` rows. T is the dtype, C the type that is computed in.
template <typename T, typename C>
struct RowResults {
  T* loss;
  T* gradient;
  int64_t rows;
  int64_t columns;

  // Calls `finish(row, log_probabilities)`, which gives the loss of a row and turns the logarithms of its probabilities
  // into its gradient, for all rows, one of `logits` each.
  template <typename Finish>
  absl::Status ForEachRow(const Workers& workers, const MatrixRows<T, C>& logits, int copies, ScratchKeeper* keeper,
                          const Finish& finish) const {
    constexpr bool kIsNarrow = !std::is_same<T, C>::value;
    const int64_t all_copies = copies + (kIsNarrow ? 1 : 0) + (logits.NeedsCopy() ? 1 : 0);
    const double row_ns = kClassNs * static_cast<double>(columns);
    SLUICE_ASSIGN_OR_RETURN(
        const WorkerScratch scratch,
        WorkerScratch::Make(workers, rows, all_copies * columns * static_cast<int64_t>(sizeof(C)), keeper));
    return workers.ForEachShard(rows, row_ns, [&](int64_t row, int worker) {
      C* copy = static_cast<C*>(scratch.of(worker));
      const C* const x = logits.Row(row, copy);
      if (logits.NeedsCopy()) copy += columns;
      T* const to = gradient + row * columns;
      if constexpr (kIsNarrow) {
        LogSoftmaxOf(x, copy, columns);
        loss[row] = T(finish(row, copy, copy + columns));
        for (int64_t i = 0; i < columns; ++i) to[i] = T(copy[i]);
      } else {
        LogSoftmaxOf(x, to, columns);
        loss[row] = finish(row, to, copy);
      }
      return absl::OkStatus();
    });
  }
};

// The type that T is computed in.
template <typename T>
using Computed = std::conditional_t<std::is_same<T, double>::value, double, float>;

// The size of an axis that both have, one of them perhaps once for all. False when they do not agree.
bool BroadcastDim(int64_t a, int64_t b, int64_t* both) {
  *both = a == 1 ? b : a;
  return a == b || a == 1 || b == 1;
}

// Logits and labels, which broadcast to a matrix.
class DenseCrossEntropy : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Shape& logits = context.input(0).shape();
    const Shape& labels = context.input(1).shape();
    if (std::max(logits.rank(), labels.rank()) != 2) {
      return Mismatch(logits, labels, "matrices, or one with what broadcasts to it");
    }
    int64_t sizes[2];
    for (int axis = 0; axis < 2; ++axis) {
      if (BroadcastDim(DimOf(logits, axis), DimOf(labels, axis), &sizes[axis])) continue;
      return Mismatch(logits, labels, "shapes that broadcast");
    }
    const absl::StatusOr<Shape> shape = Shape::Make(sizes);
    if (!shape.ok()) return Error(ErrorCode::kOpTooLarge).Found(absl::StrCat("[", sizes[0], ",", sizes[1], "]"));
    absl::Status status;
    DispatchDType<FloatCppTypes>(context.input_type(0), [&](auto type) {
      using T = typename decltype(type)::Type;
      status = Run<T>(context, *shape);
    });
    return status;
  }

 private:
  static absl::Status Mismatch(const Shape& logits, const Shape& labels, const char* expected) {
    return ShapesError(absl::StrCat("logits of ", logits.ToString(), ", labels of ", labels.ToString()), expected);
  }
  // Axis `axis` of the matrix that `shape` broadcasts to.
  static int64_t DimOf(const Shape& shape, int axis) {
    const int at = axis - 2 + shape.rank();
    return at < 0 ? 1 : shape.dim(at);
  }
  template <typename T>
  static MatrixRows<T, Computed<T>> RowsOf(const Tensor& tensor, const Shape& matrix) {
    const int64_t own_columns = DimOf(tensor.shape(), 1);
    return {tensor.flat<T>().data(), DimOf(tensor.shape(), 0) == 1 ? 0 : own_columns,
            own_columns == matrix.dim(1) ? 1 : 0, matrix.dim(1)};
  }

  template <typename T>
  absl::Status Run(KernelContext& context, const Shape& shape) const {
    using C = Computed<T>;
    const auto logits = RowsOf<T>(context.input(0), shape);
    const auto labels = RowsOf<T>(context.input(1), shape);
    SLUICE_ASSIGN_OR_RETURN(const Shape rows, Shape::Make({shape.dim(0)}));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const loss, context.AllocateOutput(0, rows));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const gradient, context.ForwardOrAllocate(1, shape, {0}));
    const RowResults<T, C> results{loss->flat<T>().data(), gradient->flat<T>().data(), shape.dim(0), shape.dim(1)};
    if (shape.dim(1) == 0) std::fill_n(results.loss, shape.dim(0), T(0.0f));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int64_t columns = shape.dim(1);
    return results.ForEachRow(Workers(context.run()), logits, labels.NeedsCopy() ? 1 : 0, &scratch_,
                              [&](int64_t row, C* x, C* copy) {
                                const C* const wanted = labels.Row(row, copy);
                                const C sum = Weighted(wanted, x, columns);
                                ExpInPlace(x, columns);
                                for (int64_t i = 0; i < columns; ++i) x[i] -= wanted[i];
                                return -sum;
                              });
  }

  // The sum of the products. In several lanes, so that one addition waits for no other.
  template <typename C>
  static C Weighted(const C* a, const C* b, int64_t n) {
    constexpr int64_t kLanes = 16;
    C lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) lanes[k] += a[i + k] * b[i + k];
    }
    C sum = 0;
    for (; i < n; ++i) sum += a[i] * b[i];
    for (const C lane : lanes) sum += lane;
    return sum;
  }

  mutable ScratchKeeper scratch_;
};

// A class for each row of logits.
class SparseCrossEntropy : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Shape logits = context.input(0).shape();
    const Tensor& labels = context.input(1);
    if (logits.rank() != 2 || logits.dim(1) == 0) return ShapeError(0, "", logits, "a matrix with a class or more");
    if (labels.rank() != 1 || labels.dim(0) != logits.dim(0)) {
      return ShapeError(1, "", labels.shape(), absl::StrCat("[", logits.dim(0), "]"));
    }
    for (int64_t row = 0; row < logits.dim(0); ++row) {
      const int64_t label = IndexAt(labels, row);
      if (label >= 0 && label < logits.dim(1)) continue;
      return ValueError(1, "", absl::StrCat(label, " in row ", row), absl::StrCat("0 to ", logits.dim(1) - 1));
    }
    absl::Status status;
    DispatchDType<FloatCppTypes>(context.input_type(0), [&](auto type) {
      using T = typename decltype(type)::Type;
      status = Run<T>(context, logits, labels);
    });
    return status;
  }

 private:
  template <typename T>
  absl::Status Run(KernelContext& context, const Shape& shape, const Tensor& labels) const {
    using C = Computed<T>;
    const int64_t columns = shape.dim(1);
    const MatrixRows<T, C> logits{context.input(0).flat<T>().data(), columns, 1, columns};
    SLUICE_ASSIGN_OR_RETURN(const Shape rows, Shape::Make({shape.dim(0)}));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const loss, context.AllocateOutput(0, rows));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const gradient, context.ForwardOrAllocate(1, shape, {0}));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const RowResults<T, C> results{loss->flat<T>().data(), gradient->flat<T>().data(), shape.dim(0), columns};
    return results.ForEachRow(Workers(context.run()), logits, 0, &scratch_, [&](int64_t row, C* x, C*) {
      const int64_t label = IndexAt(labels, row);
      const C log_probability = x[label];
      ExpInPlace(x, columns);
      x[label] -= C{1};
      return -log_probability;
    });
  }

  mutable ScratchKeeper scratch_;
};

constexpr KernelRow kRows[] = {
    KernelRow("SoftmaxCrossEntropyWithLogits", &New<DenseCrossEntropy>).Types("T", kFloatTypes),
    KernelRow("SparseSoftmaxCrossEntropyWithLogits", &New<SparseCrossEntropy>)
        .Types("T", kFloatTypes)
        .Types("Tlabels", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> CrossEntropyKernels() { return kRows; }

}  // namespace sluice
