#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// --- LowerBound, UpperBound --------------------------------------------------------------------------------------

// 16-bit floats are compared as float.
template <typename T>
bool IsLess(T a, T b) {
  if constexpr (std::is_class<T>::value) {
    return static_cast<float>(a) < static_cast<float>(b);
  } else {
    return a < b;
  }
}

// For each value of a row, how many elements of the same row of `sorted` come before its first (last) place.
template <bool kUpper, typename T, typename Index>
void FindBounds(const KernelContext& context, const Tensor& sorted, const Tensor& values, Tensor& output) {
  const int64_t columns = sorted.dim(1);
  const int64_t per_row = values.dim(1);
  const T* const rows = sorted.flat<T>().data();
  const T* const wanted = values.flat<T>().data();
  Index* const to = output.flat<Index>().data();
  context.ParallelFor(values.num_elements(), 50.0, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* const row = rows + i / per_row * columns;
      const T* const found = kUpper ? std::upper_bound(row, row + columns, wanted[i], &IsLess<T>)
                                    : std::lower_bound(row, row + columns, wanted[i], &IsLess<T>);
      to[i] = static_cast<Index>(found - row);
    }
  });
}

template <bool kUpper>
absl::Status ComputeBound(KernelContext& context) {
  const Tensor& sorted = context.input(0);
  const Tensor& values = context.input(1);
  if (sorted.rank() != 2 || values.rank() != 2 || sorted.dim(0) != values.dim(0)) {
    return ShapesError(
        absl::StrCat("sorted_inputs ", sorted.shape().ToString(), ", values ", values.shape().ToString()),
        "two matrices with as many rows");
  }
  const bool is_int32 = context.output_type(0) == DType::kInt32;
  if (is_int32 && sorted.dim(1) > std::numeric_limits<int32_t>::max()) {
    return ValueError(0, "", sorted.shape().ToString(), "rows that int32 can count");
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, values.shape()));
  DispatchDType<RealCppTypes>(sorted.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    if (is_int32) {
      FindBounds<kUpper, T, int32_t>(context, sorted, values, *output);
    } else {
      FindBounds<kUpper, T, int64_t>(context, sorted, values, *output);
    }
  });
  return absl::OkStatus();
}

// --- UnravelIndex ------------------------------------------------------------------------------------------------

// The number of elements of a tensor of sizes `dims`; no size may be 0. `max`: the largest position there is.
absl::StatusOr<int64_t> CountElements(const IndexVector& dims, int64_t max) {
  int64_t count = 1;
  for (const int64_t size : dims) {
    if (size <= 0 || !CheckedMul(count, size, &count) || count > max) {
      return ValueError(1, "dims", size, "sizes of 1 or more whose product can be counted");
    }
  }
  return count;
}

// The coordinates of each position in a tensor of sizes `dims`: one column per position.
template <typename T>
absl::Status ComputeUnravelIndex(KernelContext& context) {
  const Tensor& indices = context.input(0);
  if (indices.rank() > 1 || indices.num_elements() == 0) {
    return ShapeError(0, "indices", indices.shape(), "a scalar or a vector that is not empty");
  }
  SLUICE_ASSIGN_OR_RETURN(const IndexVector dims, ReadIndexVector(context, 1, "dims"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, CountElements(dims, std::numeric_limits<T>::max()));
  const absl::Span<const T> positions = indices.flat<T>();
  for (const T position : positions) {
    if (position >= 0 && position < count) continue;
    return ValueError(0, "indices", position, absl::StrCat("0 to ", count - 1));
  }
  const int64_t columns = indices.num_elements();
  IndexVector sizes = {static_cast<int64_t>(dims.size())};
  if (indices.rank() == 1) sizes.push_back(columns);
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(sizes));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  T* const to = output->flat<T>().data();
  for (int64_t i = 0; i < columns; ++i) {
    int64_t rest = positions[static_cast<size_t>(i)];
    for (size_t axis = dims.size(); axis-- > 0;) {
      to[static_cast<int64_t>(axis) * columns + i] = static_cast<T>(rest % dims[axis]);
      rest /= dims[axis];
    }
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("LowerBound", &Call<ComputeBound<false>>).Types("T", kRealTypes),
    KernelRow("UpperBound", &Call<ComputeBound<true>>).Types("T", kRealTypes),
    KernelRow("UnravelIndex", &Call<ComputeUnravelIndex<int32_t>>).Types("Tidx", {DType::kInt32}),
    KernelRow("UnravelIndex", &Call<ComputeUnravelIndex<int64_t>>).Types("Tidx", {DType::kInt64}),
};

}  // namespace

absl::Span<const KernelRow> SearchKernels() { return kRows; }

}  // namespace sluice
