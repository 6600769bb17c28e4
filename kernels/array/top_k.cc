#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/tolerant_sort.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// The key that is compared: 16-bit floats as float.
template <typename T>
auto ValueOf(T element) {
  if constexpr (std::is_class<T>::value) {
    return static_cast<float>(element);
  } else {
    return element;
  }
}

// The matrix of all rows: the last dimension is that of the columns.
struct Rows {
  int64_t count = 1;
  int64_t columns = 1;
};

Rows RowsOf(const Shape& shape) { return {SizeOfAxes(shape, 0, shape.rank() - 1), shape.dim(shape.rank() - 1)}; }

// The shape of `shape` with `size` columns; none when `size` is -1.
absl::StatusOr<Shape> WithColumns(const Shape& shape, int64_t size) {
  IndexVector dims(shape.dims().begin(), shape.dims().end() - 1);
  if (size >= 0) dims.push_back(size);
  return MakeShape(dims);
}

// --- TopK, TopKV2 ------------------------------------------------------------------------------------------------

// The position of the largest element, of equals the first. A NaN counts only when there is nothing else.
template <typename T>
int32_t Largest(const T* row, int64_t columns) {
  int64_t best = 0;
  for (int64_t i = 1; i < columns; ++i) {
    const auto x = ValueOf(row[best]);
    const auto y = ValueOf(row[i]);
    if (y > x || (x != x && y == y)) best = i;
  }
  return static_cast<int32_t>(best);
}

// Sorts all positions by falling values, and those of equal values afterwards, as TensorFlow does: a comparison of the
// positions in the first step would leave another order around NaN.
template <typename T>
void SortByValue(const T* row, absl::Span<int32_t> order) {
  TolerantSort(order, [row](int32_t a, int32_t b) { return ValueOf(row[a]) > ValueOf(row[b]); });
  for (auto begin = order.begin(); begin != order.end();) {
    const auto value = ValueOf(row[*begin]);
    const auto end = std::find_if(begin + 1, order.end(), [&](int32_t at) { return ValueOf(row[at]) != value; });
    std::sort(begin, end);
    begin = end;
  }
}

// The positions of the `k` largest elements of `row` come first in `order`; of equals the first. Unless `sorted`, they
// come as a heap leaves them. The heap is TensorFlow's, to the element, since the order that it leaves and what NaNs do
// to it can be seen.
template <typename T>
void LargestFirst(const T* row, int64_t columns, int64_t k, bool sorted, std::vector<int32_t>* order) {
  if (k == 1) return order->assign(1, Largest(row, columns));
  order->resize(static_cast<size_t>(columns));
  std::iota(order->begin(), order->end(), 0);
  const auto goes_before = [row](int32_t a, int32_t b) {
    const auto x = ValueOf(row[a]);
    const auto y = ValueOf(row[b]);
    return x > y || (!(x < y) && a < b);
  };
  const absl::Span<int32_t> all = absl::MakeSpan(*order);
  if (k == columns) {
    SortByValue(row, all);
  } else {
    // Starts with one more than is kept; then the smallest gives way to whatever is larger.
    const absl::Span<int32_t> kept = all.first(static_cast<size_t>(k));
    const absl::Span<int32_t> start = all.first(static_cast<size_t>(k) + 1);
    TolerantMakeHeap(start, goes_before);
    TolerantPopHeap(start, goes_before);
    for (int64_t i = k + 1; i < columns; ++i) {
      const int32_t next = static_cast<int32_t>(i);
      if (!goes_before(next, kept.front())) continue;
      TolerantPopHeap(kept, goes_before);
      kept.back() = next;
      TolerantPushHeap(kept, goes_before);
    }
    if (sorted) TolerantSortHeap(kept, goes_before);
  }
}

// The k largest elements of each row and where they are; k is an input or an attr.
class TopKKernel final : public Kernel {
 public:
  TopKKernel(int64_t k, bool sorted) : k_(k), sorted_(sorted) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const bool sorted, construction.Get<bool>("sorted"));
    if (construction.num_inputs() > 1) return std::make_unique<TopKKernel>(-1, sorted);
    SLUICE_ASSIGN_OR_RETURN(const int64_t k, construction.Get<int64_t>("k"));
    return std::make_unique<TopKKernel>(k, sorted);
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    int64_t k = k_;
    if (context.num_inputs() > 1) {
      SLUICE_ASSIGN_OR_RETURN(k, ReadScalar(context, 1, "k"));
    }
    if (input.rank() == 0) return ShapeError(0, "input", "a scalar", "at least a vector");
    const Rows rows = RowsOf(input.shape());
    if (k < 0 || k > rows.columns) return BadK(context, k, rows.columns);
    if (rows.columns > std::numeric_limits<int32_t>::max()) {
      return Error(ErrorCode::kOpTooLarge)
          .Input(0, "input")
          .Found(input.shape().ToString())
          .Text("has too many columns");
    }
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, WithColumns(input.shape(), k));
    SLUICE_ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(0, shape));
    SLUICE_ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(1, shape));
    if (k == 0) return absl::OkStatus();
    DispatchDType<RealCppTypes>(input.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      Choose(context, rows, k, input.flat<T>().data(), values->flat<T>().data(), *indices);
    });
    return absl::OkStatus();
  }

 private:
  static absl::Status BadK(const KernelContext& context, int64_t k, int64_t columns) {
    const bool is_input = context.num_inputs() > 1;
    const std::string expected = absl::StrCat("0 to ", columns, ", as many as the input has columns");
    const ErrorBuilder error =
        is_input ? Error(ErrorCode::kOpValue).Input(1, "k") : Error(ErrorCode::kOpAttr).Attr("k");
    return ErrorBuilder(error).Found(absl::StrCat(k)).Expected(expected);
  }

  template <typename T>
  void Choose(const KernelContext& context, const Rows& rows, int64_t k, const T* input, T* values,
              Tensor& indices) const {
    context.ParallelFor(rows.count, 5.0 * static_cast<double>(rows.columns), [&](int64_t begin, int64_t end) {
      std::vector<int32_t> order;
      for (int64_t row = begin; row < end; ++row) {
        const T* const elements = input + row * rows.columns;
        LargestFirst(elements, rows.columns, k, sorted_, &order);
        for (int64_t i = 0; i < k; ++i) {
          const int32_t at = order[static_cast<size_t>(i)];
          values[row * k + i] = elements[at];
          SetIndexAt(indices, row * k + i, at);
        }
      }
    });
  }

  const int64_t k_;  // -1: it is an input.
  const bool sorted_;
};

// --- NthElement --------------------------------------------------------------------------------------------------

// The element of each row that has n smaller ones (attr reverse: larger ones).
class NthElementKernel final : public Kernel {
 public:
  explicit NthElementKernel(bool reverse) : reverse_(reverse) {}
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 1, "n"));
    if (input.rank() == 0) return ShapeError(0, "input", "a scalar", "at least a vector");
    const Rows rows = RowsOf(input.shape());
    int64_t n = IndexAt(context.input(1), 0);
    if (n < 0 || n >= rows.columns) return ValueError(1, "n", n, absl::StrCat("0 to ", rows.columns - 1));
    if (reverse_) n = rows.columns - 1 - n;
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, WithColumns(input.shape(), -1));
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    DispatchDType<RealCppTypes>(input.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      const T* const elements = input.flat<T>().data();
      T* const to = output->flat<T>().data();
      context.ParallelFor(rows.count, 5.0 * static_cast<double>(rows.columns), [&](int64_t begin, int64_t end) {
        std::vector<T> row;
        for (int64_t i = begin; i < end; ++i) {
          row.assign(elements + i * rows.columns, elements + (i + 1) * rows.columns);
          TolerantSelect(absl::MakeSpan(row), static_cast<size_t>(n), [](T a, T b) { return ValueOf(a) < ValueOf(b); });
          to[i] = row[static_cast<size_t>(n)];
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  const bool reverse_;
};

constexpr KernelRow kRows[] = {
    KernelRow("TopK", &New<TopKKernel>).Types("T", kRealTypes),
    KernelRow("TopKV2", &New<TopKKernel>).Types("T", kRealTypes),
    KernelRow("NthElement", FromAttr<NthElementKernel, bool>("reverse")).Types("T", kRealTypes),
};

}  // namespace

absl::Span<const KernelRow> TopKKernels() { return kRows; }

}  // namespace sluice
