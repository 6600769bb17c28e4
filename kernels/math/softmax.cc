#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

// One row for types other than float: half and bfloat16 in float, double as it is. `out` may be `x`.
template <typename T, bool kIsLog>
void GenericRow(const T* x, T* out, int64_t n) {
  using C = ComputeType<T>;
  C maximum = -static_cast<C>(INFINITY);
  for (int64_t i = 0; i < n; ++i) maximum = static_cast<C>(x[i]) > maximum ? static_cast<C>(x[i]) : maximum;
  C sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += ExpOf(static_cast<C>(x[i]) - maximum);
  const C log_sum = std::log(sum);
  for (int64_t i = 0; i < n; ++i) {
    const C shifted = static_cast<C>(x[i]) - maximum;
    out[i] = T(kIsLog ? shifted - log_sum : ExpOf(shifted) / sum);
  }
}

// The logarithm for 16-bit floats, each step rounded to T as in TensorFlow: the probability of a clear winner is 1.
// `out` may be `x`.
template <typename T>
void SmallLogRow(const T* x, T* out, int64_t n) {
  float maximum = -INFINITY;
  for (int64_t i = 0; i < n; ++i) maximum = std::max(maximum, static_cast<float>(x[i]));
  float sum = 0.0f;
  for (int64_t i = 0; i < n; ++i) {
    sum = RoundedTo<T>(sum + RoundedTo<T>(ExpOf(RoundedTo<T>(static_cast<float>(x[i]) - maximum))));
  }
  const float log_sum = RoundedTo<T>(std::log(sum));
  for (int64_t i = 0; i < n; ++i) out[i] = T(RoundedTo<T>(static_cast<float>(x[i]) - maximum) - log_sum);
}

// Over the last axis.
template <typename T, bool kIsLog>
class SoftmaxKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Shape shape = context.input(0).shape();
    if (shape.rank() < 1) return ShapeError(0, "", shape, "at least 1 axis");
    const T* const in = context.input(0).flat<T>().data();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.ForwardOrAllocate(0, shape, {0}));
    if (shape.num_elements() == 0) return absl::OkStatus();
    T* const out = y->flat<T>().data();
    const int64_t columns = shape.dim(shape.rank() - 1);
    const float row_ns = 1.5f * static_cast<float>(columns);
    ForShards(context, shape.num_elements() / columns, row_ns, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) Row(in + row * columns, out + row * columns, columns);
    });
    return absl::OkStatus();
  }

 private:
  static void Row(const T* x, T* out, int64_t n) {
    if constexpr (std::is_same<T, float>::value) {
      (kIsLog ? BestFloatLoops().log_softmax : BestFloatLoops().softmax)(x, out, n);
    } else if constexpr (kIsLog && kIsHalf<T>) {
      SmallLogRow(x, out, n);
    } else {
      GenericRow<T, kIsLog>(x, out, n);
    }
  }
};

template <typename T>
using Plain = SoftmaxKernel<T, false>;
template <typename T>
using Log = SoftmaxKernel<T, true>;

constexpr KernelRow kRows[] = {
    KernelRow("Softmax", &NewByType<Plain, FloatCppTypes>).Types("T", kFloatTypes),
    KernelRow("LogSoftmax", &NewByType<Log, FloatCppTypes>).Types("T", kFloatTypes),
};

}  // namespace

absl::Span<const KernelRow> SoftmaxKernels() { return kRows; }

}  // namespace sluice
