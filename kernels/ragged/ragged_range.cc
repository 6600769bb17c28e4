#include <cmath>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/element_math.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/ragged/families.h"

namespace sluice {
namespace {

using RangeCppTypes = TypeList<float, double, int32_t, int64_t>;

// One input, a scalar for all rows or a number for each.
template <typename T>
struct Bounds {
  const T* numbers = nullptr;
  bool is_scalar = false;

  T at(int64_t row) const { return numbers[is_scalar ? 0 : row]; }
};

// How many numbers go from `start` to `limit`; negative if that is NaN or too many.
template <typename T>
int64_t CountOf(T start, T limit, T delta) {
  if constexpr (std::is_integral_v<T>) {
    if (delta > 0 ? limit <= start : limit >= start) return 0;
    // In unsigned arithmetic: the distance of two int64 may be larger than any of them.
    const auto distance = [](T low, T high) { return static_cast<uint64_t>(high) - static_cast<uint64_t>(low); };
    const uint64_t way = delta > 0 ? distance(start, limit) : distance(limit, start);
    const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
    const uint64_t count = way / step + (way % step != 0 ? 1 : 0);
    return count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ? -1 : static_cast<int64_t>(count);
  } else {
    if ((delta > 0 && limit < start) || (delta < 0 && limit > start)) return 0;
    const T count = std::ceil(std::abs((limit - start) / delta));
    constexpr T kTooMany = static_cast<T>(9223372036854775808.0);
    return count < kTooMany ? static_cast<int64_t>(count) : -1;
  }
}

// The number of rows: the common length of the inputs that are vectors.
absl::StatusOr<int64_t> CountRows(const KernelContext& context) {
  constexpr absl::string_view kNames[] = {"starts", "limits", "deltas"};
  int64_t rows = -1;
  for (int i = 0; i < 3; ++i) {
    const Tensor& input = context.input(i);
    if (input.rank() > 1) return ShapeError(i, kNames[i], input.shape(), "a scalar or a vector");
    if (input.rank() == 0) continue;
    if (rows >= 0 && input.num_elements() != rows) {
      return ShapesError(i, kNames[i], input.shape(),
                         absl::StrCat("a scalar, or a vector of ", rows, " as another input is"));
    }
    rows = input.num_elements();
  }
  return rows < 0 ? 1 : rows;
}

template <typename T>
absl::Status ComputeOf(KernelContext& context, int64_t rows) {
  const auto bounds = [&](int i) { return Bounds<T>{context.input(i).flat<T>().data(), context.input(i).rank() == 0}; };
  const Bounds<T> starts = bounds(0), limits = bounds(1), deltas = bounds(2);
  SLUICE_ASSIGN_OR_RETURN(Tensor* const splits, context.AllocateOutput(0, Shape::Of({rows + 1})));
  const int64_t most =
      splits->dtype() == DType::kInt32 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
  int64_t total = 0;
  SetIndexAt(*splits, 0, 0);
  for (int64_t row = 0; row < rows; ++row) {
    if (deltas.at(row) == 0) return ValueError(2, "deltas", absl::StrCat("0 in row ", row), "another step");
    const int64_t count = CountOf(starts.at(row), limits.at(row), deltas.at(row));
    if (count < 0 || count > most - total) {
      return ValueError(absl::StrCat("too many numbers, or no number of them, up to row ", row),
                        absl::StrCat("at most ", most, " in all"));
    }
    total += count;
    SetIndexAt(*splits, row + 1, total);
  }
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({total}));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(1, shape));
  T* to = out->flat<T>().data();
  for (int64_t row = 0; row < rows; ++row) {
    T value = starts.at(row);
    const T delta = deltas.at(row);
    for (int64_t left = IndexAt(*splits, row + 1) - IndexAt(*splits, row); left > 0; --left) {
      *to++ = value;
      value = AddElements()(value, delta);  // The last may wrap around.
    }
  }
  return absl::OkStatus();
}

// RaggedRange: a row of numbers for each start, limit and step.
absl::Status ComputeRange(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t rows, CountRows(context));
  absl::Status status;
  DispatchDType<RangeCppTypes>(context.input_type(0),
                               [&](auto type) { status = ComputeOf<typename decltype(type)::Type>(context, rows); });
  return status;
}

constexpr DTypeSet kTypes = {DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64};

constexpr KernelRow kRows[] = {
    KernelRow("RaggedRange", &Call<ComputeRange>).Types("T", kTypes).Types("Tsplits", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> RaggedRangeKernels() { return kRows; }

}  // namespace sluice
