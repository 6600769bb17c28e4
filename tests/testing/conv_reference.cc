#include "tests/testing/conv_reference.h"

#include <algorithm>
#include <type_traits>

#include "graph/base/check.h"
#include "graph/value/float16.h"
#include "kernels/dispatch.h"

namespace sluice {
namespace {

using Types = TypeList<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                       uint64_t>;

size_t At(int i) { return static_cast<size_t>(i); }

int64_t Count(const Ints& dims) {
  int64_t count = 1;
  for (const int64_t size : dims) count *= size;
  return count;
}

// One of three axes; images have one plane.
struct Axis {
  int64_t in = 1, window = 1, out = 1, stride = 1, dilation = 1, before = 0;
};

Axis AxisOf(const ConvCase& conv, int i) {
  const int space = i - (3 - conv.spaces());
  Axis axis;
  if (space < 0) return axis;
  axis.in = conv.image[At(space + 1)];
  axis.window = conv.filter[At(space)];
  axis.out = conv.result()[At(space + 1)];
  axis.stride = conv.strides[At(space)];
  axis.dilation = conv.dilations.empty() ? 1 : conv.dilations[At(space)];
  if (conv.padding == "SAME") {
    const int64_t reach = (axis.window - 1) * axis.dilation + 1;
    axis.before = std::max<int64_t>(0, (axis.out - 1) * axis.stride + reach - axis.in) / 2;
  } else if (conv.padding == "EXPLICIT") {
    axis.before = conv.paddings[At(2 * space + 2)];
  }
  return axis;
}

// Around the attrs of the axes the 1 of the batch and that of the channels.
Ints PerDimension(const ConvCase& conv, const Ints& values) {
  Ints all(At(conv.spaces() + 2), 1);
  std::copy(values.begin(), values.end(), all.begin() + 1);
  return all;
}

Tensor Made(DType dtype, const Ints& dims) {
  absl::StatusOr<Tensor> made = Tensor::Make(dtype, *Shape::Make(dims));
  SLUICE_CHECK(made.ok());
  return *std::move(made);
}

double CountedAt(int64_t i, int modulus) { return static_cast<double>(i % modulus - modulus / 2); }

}  // namespace

Ints ConvCase::result() const {
  Ints dims = {image[0]};
  for (int i = 0; i < spaces(); ++i) {
    const int64_t in = image[At(i + 1)], stride = strides[At(i)];
    const int64_t dilation = dilations.empty() ? 1 : dilations[At(i)];
    const int64_t reach = (filter[At(i)] - 1) * dilation + 1;
    const int64_t added = padding == "EXPLICIT" ? paddings[At(2 * i + 2)] + paddings[At(2 * i + 3)] : 0;
    dims.push_back(padding == "SAME" ? (in + stride - 1) / stride : (in + added - reach + stride) / stride);
  }
  dims.push_back(is_depthwise ? filter[2] * filter[3] : filter.back());
  return dims;
}

KernelRunner ConvCase::Runner(const std::string& op) const {
  KernelRunner runner(op);
  runner.Attr("strides", AttrValue(PerDimension(*this, strides))).Attr("padding", padding);
  runner.Attr("dilations", AttrValue(PerDimension(*this, dilations)));
  if (!paddings.empty()) runner.Attr("explicit_paddings", AttrValue(paddings));
  return runner;
}

void ForEachProduct(const ConvCase& conv, absl::FunctionRef<void(int64_t, int64_t, int64_t)> visit) {
  const Axis axes[] = {AxisOf(conv, 0), AxisOf(conv, 1), AxisOf(conv, 2)};
  const int64_t channels = conv.image.back(), made = conv.result().back();
  const int64_t taps = axes[0].window * axes[1].window * axes[2].window;
  const int64_t pixels = conv.image[0] * axes[0].out * axes[1].out * axes[2].out;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t rest_pixel = pixel, rest_tap = tap, place = 0, step = 1;
      bool is_inside = true;
      for (int i = 2; i >= 0; --i) {
        const Axis& axis = axes[i];
        const int64_t at = rest_pixel % axis.out * axis.stride - axis.before + rest_tap % axis.window * axis.dilation;
        is_inside = is_inside && at >= 0 && at < axis.in;
        place += at * step;
        step *= axis.in;
        rest_pixel /= axis.out;
        rest_tap /= axis.window;
      }
      if (!is_inside) continue;
      place += rest_pixel * step;
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t o = 0; o < made; ++o) {
          if (conv.is_depthwise && o / (made / channels) != c) continue;
          const int64_t of_filter = conv.is_depthwise ? tap * made + o : (tap * channels + c) * made + o;
          visit(place * channels + c, of_filter, pixel * made + o);
        }
      }
    }
  }
}

Tensor Rounded(DType dtype, const Ints& dims, const std::vector<double>& values) {
  Tensor tensor = Made(dtype, dims);
  DispatchDType<Types>(dtype, [&](auto type) {
    using T = typename decltype(type)::Type;
    size_t i = 0;
    for (T& to : tensor.flat<T>()) {
      const double value = values[i++];
      if constexpr (std::is_class_v<T>) {
        to = T(static_cast<float>(value));
      } else if constexpr (std::is_integral_v<T>) {
        to = static_cast<T>(static_cast<int64_t>(value));
      } else {
        to = static_cast<T>(value);
      }
    }
  });
  return tensor;
}

Tensor Counted(DType dtype, const Ints& dims, int modulus) {
  std::vector<double> values(static_cast<size_t>(Count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = CountedAt(static_cast<int64_t>(i), modulus);
  return Rounded(dtype, dims, values);
}

Tensor Fractions(const Ints& dims) {
  Tensor tensor = Counted(DType::kFloat, dims, 1013);
  for (float& value : tensor.flat<float>()) value *= 0.0013f;
  return tensor;
}

Tensor Sizes(const Ints& values) {
  return Tensor::Of<int32_t>(Shape::Of({static_cast<int64_t>(values.size())}),
                             std::vector<int32_t>(values.begin(), values.end()));
}

std::vector<double> AsDoubles(const Tensor& tensor) {
  std::vector<double> values;
  DispatchDType<Types>(tensor.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    for (const T value : tensor.flat<T>()) {
      if constexpr (std::is_class_v<T>) {
        values.push_back(static_cast<double>(static_cast<float>(value)));
      } else {
        values.push_back(static_cast<double>(value));
      }
    }
  });
  return values;
}

std::vector<double> ReferenceResult(const ConvCase& conv) {
  std::vector<double> sums(static_cast<size_t>(Count(conv.result())));
  ForEachProduct(conv, [&](int64_t image, int64_t filter, int64_t result) {
    sums[static_cast<size_t>(result)] += CountedAt(image, 7) * CountedAt(filter, 5);
  });
  return sums;
}

std::vector<double> ReferenceImageGradient(const ConvCase& conv) {
  std::vector<double> sums(static_cast<size_t>(Count(conv.image)));
  ForEachProduct(conv, [&](int64_t image, int64_t filter, int64_t result) {
    sums[static_cast<size_t>(image)] += CountedAt(result, 9) * CountedAt(filter, 5);
  });
  return sums;
}

std::vector<double> ReferenceFilterGradient(const ConvCase& conv) {
  std::vector<double> sums(static_cast<size_t>(Count(conv.filter)));
  ForEachProduct(conv, [&](int64_t image, int64_t filter, int64_t result) {
    sums[static_cast<size_t>(filter)] += CountedAt(image, 7) * CountedAt(result, 9);
  });
  return sums;
}

}  // namespace sluice
