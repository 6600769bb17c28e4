#ifndef SLUICE_TESTS_KERNELS_POOL_PLAIN_WINDOWS_H_
#define SLUICE_TESTS_KERNELS_POOL_PLAIN_WINDOWS_H_

// Pooling as it is defined, without regard to speed: for each element of the result the elements of the image that its
// window covers.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/kernels/pool/number_tensors.h"
#include "tests/testing/kernel_runner.h"

namespace sluice {

// A pooling of images (4 sizes) or volumes (5), channels last.
struct PoolCase {
  std::string name;
  Sizes image, window, strides;
  std::string padding = "VALID";
  Sizes paddings = {};

  bool is_volume() const { return image.size() == 5; }
  std::string op(const std::string& stem, const std::string& rest = "") const {
    return stem + (is_volume() ? "3D" : "") + rest;
  }
  KernelRunner Runner(const std::string& op) const {
    KernelRunner runner(op);
    runner.Attr("ksize", AttrValue(window)).Attr("strides", AttrValue(strides)).Attr("padding", padding);
    if (!paddings.empty()) runner.Attr("explicit_paddings", AttrValue(paddings));
    return runner;
  }
};

inline const std::vector<PoolCase>& PoolCases() {
  static const std::vector<PoolCase>& cases = *new std::vector<PoolCase>{
      {"same, 2 by 2", {2, 5, 6, 3}, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME"},
      {"same, overlapping", {1, 6, 5, 70}, {1, 3, 3, 1}, {1, 2, 1, 1}, "SAME"},
      {"valid, overlapping", {2, 5, 7, 2}, {1, 3, 2, 1}, {1, 1, 1, 1}, "VALID"},
      {"strides beyond the window", {1, 9, 8, 5}, {1, 1, 2, 1}, {1, 3, 4, 1}, "VALID"},
      {"one window", {3, 4, 4, 9}, {1, 4, 4, 1}, {1, 1, 1, 1}, "VALID"},
      {"one pixel", {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, "VALID"},
      {"a window larger than the image", {1, 2, 3, 2}, {1, 5, 7, 1}, {1, 1, 2, 1}, "SAME"},
      {"no window", {1, 2, 3, 2}, {1, 3, 1, 1}, {1, 1, 1, 1}, "VALID"},
      {"no image", {0, 4, 4, 2}, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME"},
      {"no channel", {2, 4, 4, 0}, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME"},
      {"volume, same", {1, 3, 4, 5, 3}, {1, 2, 2, 3, 1}, {1, 1, 2, 2, 1}, "SAME"},
      {"volume, valid", {2, 4, 3, 4, 2}, {1, 2, 3, 2, 1}, {1, 2, 1, 1, 1}, "VALID"},
      {"no volume", {0, 4, 3, 4, 2}, {1, 2, 3, 2, 1}, {1, 2, 1, 1, 1}, "VALID"},
  };
  return cases;
}

// MaxPool and MaxPoolGrad only.
inline PoolCase ExplicitCase() {
  return {"explicit", {2, 4, 5, 2}, {1, 3, 2, 1}, {1, 2, 1, 1}, "EXPLICIT", {0, 0, 2, 1, 0, 1, 0, 0}};
}

struct PlainWindows {
  Sizes output;
  std::vector<Sizes> elements;  // For each element of the output the places that its window covers, in order.
};

namespace plain_windows_internal {
struct Axis {
  int64_t in, out, window, stride, before;
};

inline Axis MakeAxis(const PoolCase& c, size_t i) {
  Axis axis{c.image[i], 0, c.window[i], c.strides[i], 0};
  if (c.padding == "SAME") {
    axis.out = (axis.in + axis.stride - 1) / axis.stride;
    axis.before = std::max<int64_t>(0, (axis.out - 1) * axis.stride + axis.window - axis.in) / 2;
  } else {
    const int64_t before = c.paddings.empty() ? 0 : c.paddings[2 * i];
    const int64_t after = c.paddings.empty() ? 0 : c.paddings[2 * i + 1];
    axis.out = (axis.in + before + after - axis.window + axis.stride) / axis.stride;
    axis.before = before;
  }
  return axis;
}
}  // namespace plain_windows_internal

inline PlainWindows WindowsOf(const PoolCase& c) {
  using plain_windows_internal::Axis;
  std::vector<Axis> axes;
  for (size_t i = 0; i < c.image.size(); ++i) axes.push_back(plain_windows_internal::MakeAxis(c, i));
  PlainWindows windows;
  for (const Axis& axis : axes) windows.output.push_back(axis.out);
  for (int64_t flat = 0; flat < CountOf(windows.output); ++flat) {
    Sizes places = {0};
    int64_t rest = flat;
    int64_t stride = 1;
    for (size_t i = axes.size(); i-- > 0;) {
      const Axis& axis = axes[i];
      const int64_t begin = rest % axis.out * axis.stride - axis.before;
      rest /= axis.out;
      Sizes more;
      for (int64_t at = std::max<int64_t>(begin, 0); at < std::min(begin + axis.window, axis.in); ++at) {
        for (const int64_t place : places) more.push_back(place + at * stride);
      }
      places = more;
      stride *= axis.in;
    }
    std::sort(places.begin(), places.end());
    windows.elements.push_back(places);
  }
  return windows;
}

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_POOL_PLAIN_WINDOWS_H_
