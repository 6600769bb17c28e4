// RGBToHSV and HSVToRGB: 16-bit floats are computed as floats, and rounded once.

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/float16.h"
#include "kernels/dispatch.h"
#include "kernels/image/families.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// Nanoseconds for a pixel.
constexpr double kPixelNs = 5;

// Where a comparison is false because of a NaN, the last case counts, as in TensorFlow.
struct RgbToHsv {
  template <typename T>
  static void Convert(T r, T g, T b, T* out) {
    const T value = std::max(r, std::max(g, b));
    const T range = value - std::min(r, std::min(g, b));
    const T norm = T(1) / (T(6) * range);
    T hue = r == value ? norm * (g - b) : (g == value ? norm * (b - r) + T(2) / T(6) : norm * (r - g) + T(4) / T(6));
    hue = range > 0 ? hue : T(0);
    out[0] = hue < 0 ? hue + T(1) : hue;
    out[1] = value > 0 ? range / value : T(0);
    out[2] = value;
  }
};

struct HsvToRgb {
  template <typename T>
  static T Part(T x) {  // Of [0, 1]; NaN stays.
    return x < 0 ? T(0) : x > 1 ? T(1) : x;
  }
  template <typename T>
  static void Convert(T h, T s, T v, T* out) {
    const T place = h * T(6);
    const T red = Part(std::abs(place - T(3)) - T(1));
    const T green = Part(T(2) - std::abs(place - T(2)));
    const T blue = Part(T(2) - std::abs(place - T(4)));
    const T white = T(1) - s;
    out[0] = (white + s * red) * v;
    out[1] = (white + s * green) * v;
    out[2] = (white + s * blue) * v;
  }
};

template <typename Op, typename T>
void ConvertPixels(const T* from, int64_t begin, int64_t end, T* to) {
  using Wide = std::conditional_t<std::is_same<T, double>::value, double, float>;
  for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
    Wide pixel[3];
    Op::Convert(static_cast<Wide>(from[i]), static_cast<Wide>(from[i + 1]), static_cast<Wide>(from[i + 2]), pixel);
    for (int c = 0; c < 3; ++c) to[i + c] = static_cast<T>(pixel[c]);
  }
}

template <typename Op>
absl::Status ComputeColors(KernelContext& context) {
  const Tensor& images = context.input(0);
  if (images.rank() == 0) return ShapeError(0, "images", "a scalar", "at least one dimension");
  if (images.dim(images.rank() - 1) != 3) {
    return Error(ErrorCode::kOpPrecondition)
        .Input(0, "images")
        .Found(images.shape().ToString())
        .Expected("3 channels in the last dimension");
  }
  const Shape shape = images.shape();
  const DType dtype = images.dtype();
  const void* const from = images.raw_data();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.ForwardOrAllocate(0, shape, {0}));
  void* const to = output->mutable_raw_data();
  DispatchDType<FloatCppTypes>(dtype, [&](auto type) {
    using T = typename decltype(type)::Type;
    context.ParallelFor(shape.num_elements() / 3, kPixelNs, [&](int64_t begin, int64_t end) {
      ConvertPixels<Op>(static_cast<const T*>(from), begin, end, static_cast<T*>(to));
    });
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("RGBToHSV", &Call<ComputeColors<RgbToHsv>>).Types("T", kFloatTypes),
    KernelRow("HSVToRGB", &Call<ComputeColors<HsvToRgb>>).Types("T", kFloatTypes),
};

}  // namespace

absl::Span<const KernelRow> ColorKernels() { return kRows; }

}  // namespace sluice
