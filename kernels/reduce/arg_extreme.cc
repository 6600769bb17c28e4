#include <algorithm>
#include <limits>
#include <memory>

#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/reduce/families.h"
#include "kernels/reduce/reduce_ops.h"

namespace sluice {
namespace {

constexpr int64_t kColumns = 128;  // Columns that are looked at together.

// The loops of a search along one axis: [outer, size, inner].
struct SearchPlan {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
};

// Whether `a` is further out than `b`; false with a NaN, so that NaNs are passed over.
template <bool kMax, typename V>
bool Beats(V a, V b) {
  return kMax ? a > b : a < b;
}

// Sets best and index of columns [0, width): the first of equals.
template <bool kMax, typename T>
void SearchColumns(const T* x, const SearchPlan& plan, int64_t width, int64_t* index) {
  using V = ComputeType<T>;
  using Limits = std::numeric_limits<V>;
  V best[kColumns];
  // As in TensorFlow, of finite numbers only: nothing is below lowest(), so that -inf and lowest() are equals.
  std::fill_n(best, width, kMax ? Limits::lowest() : Limits::max());
  std::fill_n(index, width, int64_t{0});
  for (int64_t row = 0; row < plan.size; ++row) {
    for (int64_t c = 0; c < width; ++c) {
      const V value = static_cast<V>(x[row * plan.inner + c]);
      if (!Beats<kMax>(value, best[c])) continue;
      best[c] = value;
      index[c] = row;
    }
  }
}

// The first of the furthest of `size` elements side by side.
template <bool kMax, typename T>
int64_t SearchRow(const T* x, int64_t size) {
  using V = ComputeType<T>;
  constexpr int64_t kLanes = 16;
  const V start = kMax ? std::numeric_limits<V>::lowest() : std::numeric_limits<V>::max();
  V best[kLanes];
  std::fill_n(best, kLanes, start);
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const V value = static_cast<V>(x[i + lane]);
      best[lane] = Beats<kMax>(value, best[lane]) ? value : best[lane];
    }
  }
  V furthest = start;
  for (const V value : best) furthest = Beats<kMax>(value, furthest) ? value : furthest;
  for (; i < size; ++i) {
    const V value = static_cast<V>(x[i]);
    furthest = Beats<kMax>(value, furthest) ? value : furthest;
  }
  if (!Beats<kMax>(furthest, start)) return 0;
  for (i = 0; i < size; ++i) {
    if (static_cast<V>(x[i]) == furthest) return i;
  }
  return 0;  // The values changed during the call: they came through a reference.
}

template <bool kMax, typename T>
void Search(const KernelContext& context, const SearchPlan& plan, const T* x, Tensor& output) {
  if (plan.inner == 1) {
    return context.ParallelFor(plan.outer, 4.0 + static_cast<double>(plan.size) / 4, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        SetIndexAt(output, row, SearchRow<kMax>(x + row * plan.size, plan.size));
    });
  }
  const int64_t strips = (plan.inner + kColumns - 1) / kColumns;
  const double unit_ns = 2.0 + static_cast<double>(plan.size * std::min(plan.inner, kColumns));
  context.ParallelFor(plan.outer * strips, unit_ns, [&](int64_t begin, int64_t end) {
    int64_t index[kColumns];
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % strips * kColumns;
      const int64_t slab = unit / strips;
      const int64_t width = std::min(kColumns, plan.inner - column);
      SearchColumns<kMax>(x + slab * plan.size * plan.inner + column, plan, width, index);
      for (int64_t c = 0; c < width; ++c) SetIndexAt(output, slab * plan.inner + column + c, index[c]);
    }
  });
}

// The position of the largest (smallest) element along an axis, which is an input. Thread-safe.
template <bool kMax>
class ArgExtremeKernel final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    const Shape& shape = input.shape();
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 1, "dimension"));
    SLUICE_ASSIGN_OR_RETURN(const int axis, ReadAxis(context, 1, "dimension", shape.rank()));
    if (shape.dim(axis) == 0) return ShapeError(0, "input", shape, "elements to choose from along the dimension");
    IndexVector dims(shape.dims().begin(), shape.dims().end());
    dims.erase(dims.begin() + axis);
    SLUICE_ASSIGN_OR_RETURN(const Shape result, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, result));
    SearchPlan plan;
    plan.outer = SizeOfAxes(shape, 0, axis);
    plan.size = shape.dim(axis);
    plan.inner = SizeOfAxes(shape, axis + 1, shape.rank());
    DispatchDType<Join<RealCppTypes, TypeList<bool>>>(input.dtype(), [&](auto type) {
      Search<kMax>(context, plan, input.flat<typename decltype(type)::Type>().data(), *output);
    });
    return absl::OkStatus();
  }
};

constexpr DTypeSet kOrdered = kRealTypes | DTypeSet{DType::kBool};

constexpr KernelRow kRows[] = {
    KernelRow("ArgMax", &New<ArgExtremeKernel<true>>).Types("T", kOrdered),
    KernelRow("ArgMin", &New<ArgExtremeKernel<false>>).Types("T", kOrdered),
};

}  // namespace

absl::Span<const KernelRow> ArgExtremeKernels() { return kRows; }

}  // namespace sluice
