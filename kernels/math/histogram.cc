// HistogramFixedWidth: how many values lie in each of some bins of equal width.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/math/families.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// Bins of equal width from the first to the last number of a range; the outer ones take what lies outside.
struct Bins {
  double low = 0;
  double width = 1;
  int64_t count = 1;

  // NaN: bin 0.
  int64_t Of(double value) const {
    const double place = (value - low) / width;
    return place >= static_cast<double>(count) ? count - 1 : place > 0 ? static_cast<int64_t>(place) : 0;
  }
};

absl::StatusOr<int64_t> ReadBinCount(const KernelContext& context) {
  const Tensor& tensor = context.input(2);
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, 2, "nbins"));
  const int64_t count = tensor.flat<int32_t>()[0];
  if (count > 0) return count;
  return ValueError(2, "nbins", count, "1 or more");
}

// Counts the values of `tensor`; false where one is NaN.
template <typename T, typename Count>
bool CountValues(const Tensor& tensor, const Bins& bins, Count* counts) {
  std::fill_n(counts, bins.count, Count(0));
  for (const T value : tensor.flat<T>()) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return false;
    }
    ++counts[bins.Of(static_cast<double>(value))];
  }
  return true;
}

template <typename T>
absl::Status CountAll(KernelContext& context, int64_t count) {
  const Tensor& range = context.input(1);
  const T low = range.flat<T>()[0], high = range.flat<T>()[1];
  if (!(low < high)) {
    return ValueError(1, "value_range", absl::StrCat("[", low, ",", high, "]"), "two numbers in order");
  }
  const Bins bins{static_cast<double>(low),
                  (static_cast<double>(high) - static_cast<double>(low)) / static_cast<double>(count), count};
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, Shape::Of({count})));
  const bool is_counted = output->dtype() == DType::kInt32
                              ? CountValues<T>(context.input(0), bins, output->flat<int32_t>().data())
                              : CountValues<T>(context.input(0), bins, output->flat<int64_t>().data());
  if (is_counted) return absl::OkStatus();
  return Error(ErrorCode::kOpValue).Input(0, "values").Text("has a NaN");
}

absl::Status ComputeHistogram(KernelContext& context) {
  const Tensor& range = context.input(1);
  if (range.rank() != 1 || range.dim(0) != 2) return ShapeError(1, "value_range", range.shape(), "[2]");
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, ReadBinCount(context));
  absl::Status status;
  DispatchDType<TypeList<float, double, int32_t, int64_t>>(
      context.input(0).dtype(), [&](auto type) { status = CountAll<typename decltype(type)::Type>(context, count); });
  return status;
}

constexpr KernelRow kRows[] = {
    KernelRow("HistogramFixedWidth", &Call<ComputeHistogram>)
        .Types("T", {DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64})
        .Types("dtype", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> HistogramKernels() { return kRows; }

}  // namespace sluice
