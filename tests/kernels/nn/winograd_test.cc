// Convolutions of Note [Minimal filtering], and their gradients.

#include "kernels/nn/winograd.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "kernels/nn/conv_geometry.h"
#include "tests/kernels/nn/conv_reference.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Tiles that are cut off at the right and below, several shards, channels that fill no vectors, all paddings.
const ConvCase kCases[] = {
    {"even", {3, 12, 10, 16}, {3, 3, 16, 32}, {1, 1}},
    {"odd", {2, 13, 15, 17}, {3, 3, 17, 33}, {1, 1}},
    {"valid", {2, 15, 12, 40}, {3, 3, 40, 16}, {1, 1}, "VALID"},
    {"explicit", {1, 14, 19, 24}, {3, 3, 24, 50}, {1, 1}, "EXPLICIT", {0, 0, 0, 2, 3, 0, 0, 0}},
    {"one row", {4, 1, 60, 16}, {3, 3, 16, 16}, {1, 1}},
    {"several shards", {5, 16, 16, 20}, {3, 3, 20, 18}, {1, 1}},
    {"deep", {1, 14, 14, 530}, {3, 3, 530, 34}, {1, 1}},
};

ConvGeometry GeometryOf(const ConvCase& conv) {
  ConvForm form;
  for (size_t i = 1; i < 3; ++i) {
    form.axes[i].padding = conv.padding == "SAME" ? WindowAxis::Padding::kSame : WindowAxis::Padding::kValid;
    form.axes[i].stride = conv.strides[i - 1];
    form.axes[i].dilation = conv.dilations.empty() ? 1 : conv.dilations[i - 1];
  }
  return ConvGeometry::Resolve(form, *Shape::Make(conv.image), *Shape::Make(conv.filter)).value();
}

// Whole numbers of which none is zero: a filter without gaps.
Tensor WholeTaps(DType dtype, const Ints& dims) {
  std::vector<double> values(static_cast<size_t>(plain_conv::Count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 4) - (i % 4 < 2 ? 2 : 1);
  return Rounded(dtype, dims, values);
}

// Fractions of which none is zero.
Tensor FractionTaps(const Ints& dims) {
  Tensor taps = Fractions(dims);
  for (float& value : taps.flat<float>()) value += 0.0007f;
  return taps;
}

// The sums of the products of images and filter, and of their sizes.
struct Sums {
  explicit Sums(int64_t elements) : values(static_cast<size_t>(elements)), sizes(values.size()) {}
  void Add(int64_t at, double product) {
    values[static_cast<size_t>(at)] += product;
    sizes[static_cast<size_t>(at)] += std::abs(product);
  }
  std::vector<double> values, sizes;
};

Sums ResultOf(const ConvCase& conv, const Tensor& image, const Tensor& filter) {
  Sums sums(plain_conv::Count(conv.result()));
  const std::vector<double> pixels = AsDoubles(image), taps = AsDoubles(filter);
  ForEachProduct(conv, [&](int64_t i, int64_t f, int64_t r) {
    sums.Add(r, pixels[static_cast<size_t>(i)] * taps[static_cast<size_t>(f)]);
  });
  return sums;
}

Sums ImageGradientOf(const ConvCase& conv, const Tensor& filter, const Tensor& gradient) {
  Sums sums(plain_conv::Count(conv.image));
  const std::vector<double> taps = AsDoubles(filter), results = AsDoubles(gradient);
  ForEachProduct(conv, [&](int64_t i, int64_t f, int64_t r) {
    sums.Add(i, results[static_cast<size_t>(r)] * taps[static_cast<size_t>(f)]);
  });
  return sums;
}

// Whole numbers: any way of adding is exact.
TEST(WinogradTest, GivesWhatPlainLoopsGive) {
  for (const ConvCase& conv : kCases) {
    for (const DType dtype : {DType::kFloat, DType::kHalf}) {
      if (dtype == DType::kHalf && conv.filter[2] > 20) continue;  // Sums beyond what a half can hold exactly.
      const Tensor image = Counted(dtype, conv.image, 7), filter = WholeTaps(dtype, conv.filter);
      const Tensor gradient = Counted(dtype, conv.result(), 9);
      ASSERT_OK_AND_ASSIGN(const Tensor y, conv.Runner("Conv2D").Run1({image, filter}));
      EXPECT_EQ(AsDoubles(y), AsDoubles(Rounded(dtype, conv.result(), ResultOf(conv, image, filter).values)))
          << conv.name;
      ASSERT_OK_AND_ASSIGN(const Tensor dx,
                           conv.Runner("Conv2DBackpropInput").Run1({Sizes(conv.image), filter, gradient}));
      EXPECT_EQ(AsDoubles(dx), AsDoubles(Rounded(dtype, conv.image, ImageGradientOf(conv, filter, gradient).values)))
          << conv.name;
    }
  }
}

TEST(WinogradTest, IsForLargeConvolutionsOfThreeByThree) {
  for (const ConvCase& conv : kCases) {
    if (conv.padding == "EXPLICIT") continue;
    EXPECT_TRUE(HasMinimalFilter(GeometryOf(conv))) << conv.name;
  }
  EXPECT_FALSE(HasMinimalFilter(GeometryOf({"stride", {3, 24, 24, 16}, {3, 3, 16, 32}, {2, 1}})));
  EXPECT_FALSE(HasMinimalFilter(GeometryOf({"dilation", {3, 24, 24, 16}, {3, 3, 16, 32}, {1, 1}, "SAME", {}, {1, 2}})));
  EXPECT_FALSE(HasMinimalFilter(GeometryOf({"window", {3, 24, 24, 16}, {5, 3, 16, 32}, {1, 1}})));
  EXPECT_FALSE(HasMinimalFilter(GeometryOf({"channels", {3, 24, 24, 3}, {3, 3, 3, 32}, {1, 1}})));
  EXPECT_FALSE(HasMinimalFilter(GeometryOf({"groups", {3, 24, 24, 32}, {3, 3, 16, 32}, {1, 1}})));
  EXPECT_FALSE(HasMinimalFilter(GeometryOf({"few tiles", {1, 7, 7, 64}, {3, 3, 64, 64}, {1, 1}})));
}

// Errors by rounding are those of a sum of this length.
TEST(WinogradTest, RoundsAsOthersDo) {
  const ConvCase conv = {"", {2, 17, 18, 64}, {3, 3, 64, 48}, {1, 1}};
  const Tensor image = Fractions(conv.image), filter = FractionTaps(conv.filter);
  ASSERT_TRUE(PackMinimalFilter(filter.flat<float>().data(), 64, 48, false, HostAllocator())->has_value());
  const Sums sums = ResultOf(conv, image, filter);
  ASSERT_OK_AND_ASSIGN(const Tensor y, conv.Runner("Conv2D").Run1({image, filter}));
  const std::vector<double> values = AsDoubles(y);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], sums.values[i], 3e-7 * sums.sizes[i] + 1e-6) << i;
}

// A large pixel that meets a tap of zero leaves the small ones beside it all their digits.
TEST(WinogradTest, LargePixelsUnderZeroTapsTakeNoDigits) {
  const ConvCase conv = {"", {1, 16, 16, 16}, {3, 3, 16, 16}, {1, 1}};
  const std::vector<std::vector<int>> masks = {{4}, {2, 4, 6}, {0, 2, 4, 6, 8}, {0, 1, 2, 3, 5, 6, 7, 8}};
  for (const std::vector<int>& mask : masks) {
    Tensor filter = Counted(DType::kFloat, conv.filter, 1);  // Zeros.
    for (const int tap : mask) {
      for (size_t c = 0; c < 16; ++c) filter.flat<float>()[(static_cast<size_t>(tap) * 16 + c) * 16 + c] = 1;
    }
    for (const float large : {1e6f, -30000.0f, 300.0f}) {
      Tensor image = Counted(DType::kFloat, conv.image, 1);
      for (float& pixel : image.flat<float>()) pixel = 0.1f;
      for (size_t c = 0; c < 16; ++c) image.flat<float>()[(5 * 16 + 6) * 16 + c] = large;
      ASSERT_OK_AND_ASSIGN(const Tensor y, conv.Runner("Conv2D").Run1({image, filter}));
      ASSERT_OK_AND_ASSIGN(const Tensor dx,
                           conv.Runner("Conv2DBackpropInput").Run1({Sizes(conv.image), filter, image}));
      const std::vector<double> values = AsDoubles(y), gradients = AsDoubles(dx);
      const Sums sums = ResultOf(conv, image, filter), gradient_sums = ImageGradientOf(conv, filter, image);
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(values[i], sums.values[i], 1e-5 * sums.sizes[i]) << large << " " << i;
        ASSERT_NEAR(gradients[i], gradient_sums.values[i], 1e-5 * gradient_sums.sizes[i]) << large << " " << i;
      }
    }
  }
}

TEST(WinogradTest, FiltersWithZerosBesideOtherTapsHaveGaps) {
  std::vector<float> filter(9 * 20, 0.5f);
  const auto has_gaps = [&] { return !PackMinimalFilter(filter.data(), 4, 5, false, HostAllocator())->has_value(); };
  EXPECT_FALSE(has_gaps());
  for (const size_t pair : {3, 19}) {
    float& last = filter[8 * 20 + pair];
    for (const float small : {-1e-4f, 1e-9f}) {  // Some taps of any filter are small.
      last = small;
      EXPECT_FALSE(has_gaps());
    }
    for (const float none : {0.0f, -0.0f, 1e-12f, -1e-40f}) {
      last = none;
      EXPECT_TRUE(has_gaps()) << none;
    }
    // Channels that have nothing to do with each other.
    for (size_t tap = 0; tap < 9; ++tap) filter[tap * 20 + pair] = 0;
    EXPECT_FALSE(has_gaps());
  }
}

// The others of its batch have the same bits beside an image that is made again.
TEST(WinogradTest, AnImageThatNeedsThePlainWayIsAlone) {
  for (const bool is_volume : {false, true}) {
    const ConvCase conv = is_volume ? ConvCase{"", {5, 3, 9, 12, 16}, {1, 3, 3, 16, 16}, {1, 1, 1}}
                                    : ConvCase{"", {5, 9, 12, 16}, {3, 3, 16, 16}, {1, 1}};
    const std::string op = is_volume ? "Conv3D" : "Conv2D";
    const std::string back = op + (is_volume ? "BackpropInputV2" : "BackpropInput");
    const Tensor clean = Fractions(conv.image), filter = FractionTaps(conv.filter);
    Tensor image = Fractions(conv.image);
    const size_t size = image.flat<float>().size() / 5;
    for (const size_t bad : {1, 2, 4}) image.flat<float>()[bad * size + 77] = std::numeric_limits<float>::quiet_NaN();
    ASSERT_OK_AND_ASSIGN(const Tensor wanted, conv.Runner(op).Run1({clean, filter}));
    ASSERT_OK_AND_ASSIGN(const Tensor y, conv.Runner(op).Run1({image, filter}));
    ASSERT_OK_AND_ASSIGN(const Tensor wanted_dx, conv.Runner(back).Run1({Sizes(conv.image), filter, clean}));
    ASSERT_OK_AND_ASSIGN(const Tensor dx, conv.Runner(back).Run1({Sizes(conv.image), filter, image}));
    for (size_t i = 0; i < 5 * size; ++i) {
      const bool is_bad = i / size == 1 || i / size == 2 || i / size == 4;
      const float got = y.flat<float>()[i], got_dx = dx.flat<float>()[i];
      const float is = wanted.flat<float>()[i], is_dx = wanted_dx.flat<float>()[i];
      ASSERT_TRUE(is_bad ? std::isnan(got) || std::abs(got - is) < 1e-3f : got == is) << op << " " << i;
      ASSERT_TRUE(is_bad ? std::isnan(got_dx) || std::abs(got_dx - is_dx) < 1e-3f : got_dx == is_dx) << op << " " << i;
    }
    EXPECT_TRUE(std::isnan(y.flat<float>()[size + 77]) && std::isnan(dx.flat<float>()[4 * size + 77]));
  }
}

// Elsewhere in its tile a number that is infinite, or huge, leaves no trace.
TEST(WinogradTest, InfinitiesAndNaNsStayInTheirWindows) {
  const ConvCase conv = {"", {1, 16, 16, 16}, {3, 3, 16, 16}, {1, 1}};
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 3e38f, -1e30f, 1e9f}) {
    Tensor image = Counted(DType::kFloat, conv.image, 7), gradient = Counted(DType::kFloat, conv.result(), 9);
    const Tensor filter = WholeTaps(DType::kFloat, conv.filter);
    const std::vector<double> clean = ResultOf(conv, image, filter).values,
                              clean_gradient = ImageGradientOf(conv, filter, gradient).values;
    image.flat<float>()[(5 * 16 + 6) * 16 + 3] = bad;
    gradient.flat<float>()[(9 * 16 + 9) * 16 + 2] = bad;
    ASSERT_OK_AND_ASSIGN(const Tensor y, conv.Runner("Conv2D").Run1({image, filter}));
    ASSERT_OK_AND_ASSIGN(const Tensor dx,
                         conv.Runner("Conv2DBackpropInput").Run1({Sizes(conv.image), filter, gradient}));
    const auto is_near = [](int64_t pixel, int64_t row, int64_t col) {
      return std::abs(pixel / 16 - row) <= 1 && std::abs(pixel % 16 - col) <= 1;
    };
    for (int64_t i = 0; i < 16 * 16 * 16; ++i) {
      const size_t at = static_cast<size_t>(i);
      ASSERT_TRUE(is_near(i / 16, 5, 6) || y.flat<float>()[at] == clean[at]) << bad << " " << i;
      ASSERT_TRUE(is_near(i / 16, 9, 9) || dx.flat<float>()[at] == clean_gradient[at]) << bad << " " << i;
    }
    EXPECT_NE(y.flat<float>()[(5 * 16 + 6) * 16 + 1], clean[(5 * 16 + 6) * 16 + 1]);
  }
}

TEST(WinogradTest, ThreadsChangeNoBit) {
  const ConvCase conv = {"", {3, 31, 40, 37}, {3, 3, 37, 40}, {1, 1}};
  const Tensor image = Fractions(conv.image), filter = FractionTaps(conv.filter), gradient = Fractions(conv.result());
  ASSERT_OK_AND_ASSIGN(const Tensor y, conv.Runner("Conv2D").Run1({image, filter}));
  ASSERT_OK_AND_ASSIGN(const Tensor dx, conv.Runner("Conv2DBackpropInput").Run1({Sizes(conv.image), filter, gradient}));
  for (const int num_threads : {1, 2, 8}) {
    ThreadPoolOptions options;
    options.num_threads = num_threads;
    ThreadPool pool(options);
    KernelRunner forward = conv.Runner("Conv2D"), back = conv.Runner("Conv2DBackpropInput");
    forward.run().task_runner = back.run().task_runner = &pool;
    ASSERT_OK_AND_ASSIGN(const Tensor other, forward.Run1({image, filter}));
    EXPECT_EQ(AsDoubles(other), AsDoubles(y));
    ASSERT_OK_AND_ASSIGN(const Tensor other_dx, back.Run1({Sizes(conv.image), filter, gradient}));
    EXPECT_EQ(AsDoubles(other_dx), AsDoubles(dx));
  }
}

}  // namespace
}  // namespace sluice
