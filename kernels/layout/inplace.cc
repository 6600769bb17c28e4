// Rows that are written into a tensor, or added to its rows: InplaceUpdate, InplaceAdd, InplaceSub.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/dispatch.h"
#include "kernels/element_math.h"
#include "kernels/forward_or_copy.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/layout/families.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

enum class Inplace { kUpdate, kAdd, kSubtract };

absl::Status CheckInputs(const KernelContext& context) {
  const Shape& x = context.input(0).shape();
  const Shape& rows = context.input(1).shape();
  const Shape& v = context.input(2).shape();
  bool fits = rows.rank() == 1 && x.rank() == v.rank() && x.rank() > 0 && rows.dim(0) == v.dim(0);
  for (int d = 1; fits && d < x.rank(); ++d) fits = x.dim(d) == v.dim(d);
  if (fits) return absl::OkStatus();
  return ShapesError(absl::StrCat("x ", x.ToString(), ", i ", rows.ToString(), ", v ", v.ToString()),
                     "x [n,...], i [m], v [m,...]");
}

using AddedTypes = TypeList<float, double, int32_t, int64_t, Half, BFloat16>;

// Rows are counted round and round, from either end, as in TensorFlow. They are written in order: the last one counts.
template <Inplace kHow>
absl::Status Compute(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckInputs(context));
  const Tensor rows = context.input(1), v = context.input(2);
  SLUICE_RETURN_IF_ERROR(ForwardOrCopy(context, 0));
  Tensor& y = context.output_entry(0).value();
  if (y.num_elements() == 0 || v.num_elements() == 0) return absl::OkStatus();
  const int64_t count = y.dim(0), size = y.num_elements() / count;
  const auto each = [&](auto write) {
    for (int64_t k = 0; k < v.dim(0); ++k) {
      const int64_t row = (IndexAt(rows, k) % count + count) % count;
      write(k * size, row * size);
    }
  };
  if constexpr (kHow == Inplace::kUpdate) {
    DispatchMoved(y.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      each([&](int64_t from, int64_t to) { std::copy_n(Elements<T>(v) + from, size, Elements<T>(y) + to); });
    });
  } else {
    using Op = std::conditional_t<kHow == Inplace::kAdd, AddElements, SubtractElements>;
    DispatchDType<AddedTypes>(y.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      each([&](int64_t from, int64_t to) {
        T* const at = y.flat<T>().data() + to;
        const T* const added = v.flat<T>().data() + from;
        for (int64_t i = 0; i < size; ++i) at[i] = Op()(at[i], added[i]);
      });
    });
  }
  return absl::OkStatus();
}

constexpr DTypeSet kAdded = kFloatTypes | kIndexTypes;

constexpr KernelRow kRows[] = {
    KernelRow("InplaceAdd", &Call<Compute<Inplace::kAdd>>).Types("T", kAdded),
    KernelRow("InplaceSub", &Call<Compute<Inplace::kSubtract>>).Types("T", kAdded),
    KernelRow("InplaceUpdate", &Call<Compute<Inplace::kUpdate>>),
};

}  // namespace

absl::Span<const KernelRow> InplaceKernels() { return kRows; }

}  // namespace sluice
