#ifndef SLUICE_TESTS_KERNELS_NN_CONV_REFERENCE_H_
#define SLUICE_TESTS_KERNELS_NN_CONV_REFERENCE_H_

// Convolutions in plain loops, for tests.

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/value/float16.h"
#include "graph/value/tensor.h"
#include "kernels/dispatch.h"
#include "tests/testing/kernel_runner.h"

namespace sluice {

using Ints = std::vector<int64_t>;

// One convolution of images (rank 4) or volumes (rank 5). A value type.
struct ConvCase {
  std::string name;
  Ints image, filter, strides;  // Strides and dilations of planes (volumes), rows, columns.
  std::string padding = "SAME";
  Ints paddings = {};   // As attr explicit_paddings has them.
  Ints dilations = {};  // Empty: 1.
  bool is_depthwise = false;
  bool centres = false;  // Where strides under SAME leave elements out, half of them come first.

  int spaces() const { return static_cast<int>(image.size()) - 2; }
  Ints result() const;
  // A kernel of `op` with these attrs.
  KernelRunner Runner(const std::string& op) const;
};

// Calls `visit` for each product that the convolution sums up: the elements of image, filter and result.
void ForEachProduct(const ConvCase& conv, absl::FunctionRef<void(int64_t image, int64_t filter, int64_t result)> visit);

// -modulus/2, ... again and again, of any real dtype but the unsigned ones: sums of products are exact.
Tensor Counted(DType dtype, const Ints& dims, int modulus);
// A tensor of int32.
Tensor Sizes(const Ints& values);
// `values` as they are in `dtype`.
Tensor Rounded(DType dtype, const Ints& dims, const std::vector<double>& values);
// Not exact: fractions, so that another order of additions shows.
Tensor Fractions(const Ints& dims);
// The values of a tensor of any real dtype.
std::vector<double> AsDoubles(const Tensor& tensor);

// What the convolution of Counted(image, 7) and Counted(filter, 5) gives, and the gradients where that of the result is
// Counted(result, 9).
std::vector<double> ReferenceResult(const ConvCase& conv);
std::vector<double> ReferenceImageGradient(const ConvCase& conv);
std::vector<double> ReferenceFilterGradient(const ConvCase& conv);

// --- Definitions
// ------------------------------------------------------------------------------------------------------

namespace plain_conv {

using Types =
    TypeList<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;

inline size_t At(int i) { return static_cast<size_t>(i); }

inline int64_t Count(const Ints& dims) {
  int64_t count = 1;
  for (const int64_t size : dims) count *= size;
  return count;
}

// One of three axes; images have one plane.
struct Axis {
  int64_t in = 1, window = 1, out = 1, stride = 1, dilation = 1, before = 0;
};

inline Axis AxisOf(const ConvCase& conv, int i) {
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
    const int64_t added = (axis.out - 1) * axis.stride + reach - axis.in;
    axis.before = (conv.centres ? added : std::max<int64_t>(0, added)) / 2;
  } else if (conv.padding == "EXPLICIT") {
    axis.before = conv.paddings[At(2 * space + 2)];
  }
  return axis;
}

// Around the attrs of the axes the 1 of the batch and that of the channels.
inline Ints PerDimension(const ConvCase& conv, const Ints& values) {
  Ints all(At(conv.spaces() + 2), 1);
  std::copy(values.begin(), values.end(), all.begin() + 1);
  return all;
}

inline Tensor Made(DType dtype, const Ints& dims) { return Tensor::Make(dtype, *Shape::Make(dims)).value(); }

inline double CountedAt(int64_t i, int modulus) { return static_cast<double>(i % modulus - modulus / 2); }

}  // namespace plain_conv

inline Ints ConvCase::result() const {
  Ints dims = {image[0]};
  for (int i = 0; i < spaces(); ++i) {
    const int64_t in = image[plain_conv::At(i + 1)], stride = strides[plain_conv::At(i)];
    const int64_t dilation = dilations.empty() ? 1 : dilations[plain_conv::At(i)];
    const int64_t reach = (filter[plain_conv::At(i)] - 1) * dilation + 1;
    const int64_t added =
        padding == "EXPLICIT" ? paddings[plain_conv::At(2 * i + 2)] + paddings[plain_conv::At(2 * i + 3)] : 0;
    dims.push_back(padding == "SAME" ? (in + stride - 1) / stride : (in + added - reach + stride) / stride);
  }
  dims.push_back(is_depthwise ? filter[2] * filter[3] : filter.back());
  return dims;
}

inline KernelRunner ConvCase::Runner(const std::string& op) const {
  KernelRunner runner(op);
  runner.Attr("strides", AttrValue(plain_conv::PerDimension(*this, strides))).Attr("padding", padding);
  runner.Attr("dilations", AttrValue(plain_conv::PerDimension(*this, dilations)));
  if (!paddings.empty()) runner.Attr("explicit_paddings", AttrValue(paddings));
  return runner;
}

inline void ForEachProduct(const ConvCase& conv, absl::FunctionRef<void(int64_t, int64_t, int64_t)> visit) {
  const plain_conv::Axis axes[] = {plain_conv::AxisOf(conv, 0), plain_conv::AxisOf(conv, 1),
                                   plain_conv::AxisOf(conv, 2)};
  const int64_t channels = conv.image.back(), made = conv.result().back();
  const int64_t taps = axes[0].window * axes[1].window * axes[2].window;
  const int64_t pixels = conv.image[0] * axes[0].out * axes[1].out * axes[2].out;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t rest_pixel = pixel, rest_tap = tap, place = 0, step = 1;
      bool is_inside = true;
      for (int i = 2; i >= 0; --i) {
        const plain_conv::Axis& axis = axes[i];
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

inline Tensor Rounded(DType dtype, const Ints& dims, const std::vector<double>& values) {
  Tensor tensor = plain_conv::Made(dtype, dims);
  DispatchDType<plain_conv::Types>(dtype, [&](auto type) {
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

inline Tensor Counted(DType dtype, const Ints& dims, int modulus) {
  std::vector<double> values(static_cast<size_t>(plain_conv::Count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = plain_conv::CountedAt(static_cast<int64_t>(i), modulus);
  return Rounded(dtype, dims, values);
}

inline Tensor Fractions(const Ints& dims) {
  Tensor tensor = Counted(DType::kFloat, dims, 1013);
  for (float& value : tensor.flat<float>()) value *= 0.0013f;
  return tensor;
}

inline Tensor Sizes(const Ints& values) {
  return Tensor::Of<int32_t>(Shape::Of({static_cast<int64_t>(values.size())}),
                             std::vector<int32_t>(values.begin(), values.end()));
}

inline std::vector<double> AsDoubles(const Tensor& tensor) {
  std::vector<double> values;
  DispatchDType<plain_conv::Types>(tensor.dtype(), [&](auto type) {
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

inline std::vector<double> ReferenceResult(const ConvCase& conv) {
  std::vector<double> sums(static_cast<size_t>(plain_conv::Count(conv.result())));
  ForEachProduct(conv, [&](int64_t image, int64_t filter, int64_t result) {
    sums[static_cast<size_t>(result)] += plain_conv::CountedAt(image, 7) * plain_conv::CountedAt(filter, 5);
  });
  return sums;
}

inline std::vector<double> ReferenceImageGradient(const ConvCase& conv) {
  std::vector<double> sums(static_cast<size_t>(plain_conv::Count(conv.image)));
  ForEachProduct(conv, [&](int64_t image, int64_t filter, int64_t result) {
    sums[static_cast<size_t>(image)] += plain_conv::CountedAt(result, 9) * plain_conv::CountedAt(filter, 5);
  });
  return sums;
}

inline std::vector<double> ReferenceFilterGradient(const ConvCase& conv) {
  std::vector<double> sums(static_cast<size_t>(plain_conv::Count(conv.filter)));
  ForEachProduct(conv, [&](int64_t image, int64_t filter, int64_t result) {
    sums[static_cast<size_t>(filter)] += plain_conv::CountedAt(image, 7) * plain_conv::CountedAt(result, 9);
  });
  return sums;
}

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_NN_CONV_REFERENCE_H_
