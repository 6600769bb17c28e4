// Cross products of vectors of three elements.

#include <cstdint>
#include <memory>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/float16.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/math/families.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// Nanoseconds for a vector.
constexpr double kVectorNs = 3;

// Integers wrap around: they are multiplied as 64 bits without sign. 16-bit floats are rounded once.
template <typename T>
using Wide =
    std::conditional_t<std::is_integral_v<T>, uint64_t, std::conditional_t<std::is_same_v<T, double>, double, float>>;

template <typename T>
void CrossVectors(const T* a, const T* b, int64_t begin, int64_t end, T* out) {
  for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
    const Wide<T> ax = static_cast<Wide<T>>(a[i]), ay = static_cast<Wide<T>>(a[i + 1]),
                  az = static_cast<Wide<T>>(a[i + 2]);
    const Wide<T> bx = static_cast<Wide<T>>(b[i]), by = static_cast<Wide<T>>(b[i + 1]),
                  bz = static_cast<Wide<T>>(b[i + 2]);
    out[i] = static_cast<T>(ay * bz - az * by);
    out[i + 1] = static_cast<T>(az * bx - ax * bz);
    out[i + 2] = static_cast<T>(ax * by - ay * bx);
  }
}

absl::Status ComputeCross(KernelContext& context) {
  const Tensor &a = context.input(0), &b = context.input(1);
  if (a.shape() != b.shape()) {
    return ShapesError(absl::StrCat(a.shape().ToString(), " and ", b.shape().ToString()), "equal shapes");
  }
  if (a.rank() == 0) return ShapeError(0, "", "a scalar", "at least one dimension");
  if (a.dim(a.rank() - 1) != 3) {
    return Error(ErrorCode::kOpPrecondition)
        .Input(0)
        .Found(a.shape().ToString())
        .Expected("vectors of 3 elements in the last dimension");
  }
  const Shape shape = a.shape();
  const void *const a_data = a.raw_data(), *const b_data = b.raw_data();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.ForwardOrAllocate(0, shape, {0, 1}));
  void* const out = output->mutable_raw_data();
  const auto run = [&](auto type) {
    using T = typename decltype(type)::Type;
    context.ParallelFor(shape.num_elements() / 3, kVectorNs, [&](int64_t begin, int64_t end) {
      CrossVectors(static_cast<const T*>(a_data), static_cast<const T*>(b_data), begin, end, static_cast<T*>(out));
    });
  };
  if (DispatchDType<FloatCppTypes>(output->dtype(), run)) return absl::OkStatus();
  DispatchSize(DTypeSize(output->dtype()), [&](auto type) {
    if constexpr (std::is_integral_v<typename decltype(type)::Type>) run(type);
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {KernelRow("Cross", &Call<ComputeCross>).Types("T", kRealTypes)};

}  // namespace

absl::Span<const KernelRow> CrossKernels() { return kRows; }

}  // namespace sluice
