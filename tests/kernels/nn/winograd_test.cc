// Convolutions of Note [Minimal filtering], and their gradients.

#include "kernels/nn/winograd.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "executor/thread_pool.h"
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

// Whole numbers: any way of adding is exact.
TEST(WinogradTest, GivesWhatPlainLoopsGive) {
  for (const ConvCase& conv : kCases) {
    for (const DType dtype : {DType::kFloat, DType::kHalf}) {
      if (dtype == DType::kHalf && conv.filter[2] > 20) continue;  // Sums beyond what a half can hold exactly.
      const Tensor image = Counted(dtype, conv.image, 7), filter = Counted(dtype, conv.filter, 5);
      const Tensor gradient = Counted(dtype, conv.result(), 9);
      ASSERT_OK_AND_ASSIGN(const Tensor y, conv.Runner("Conv2D").Run1({image, filter}));
      EXPECT_EQ(AsDoubles(y), AsDoubles(Rounded(dtype, conv.result(), ReferenceResult(conv)))) << conv.name;
      ASSERT_OK_AND_ASSIGN(const Tensor dx,
                           conv.Runner("Conv2DBackpropInput").Run1({Sizes(conv.image), filter, gradient}));
      EXPECT_EQ(AsDoubles(dx), AsDoubles(Rounded(dtype, conv.image, ReferenceImageGradient(conv)))) << conv.name;
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
  const Tensor image = Fractions(conv.image), filter = Fractions(conv.filter);
  std::vector<double> sums(static_cast<size_t>(2 * 17 * 18 * 48)), sizes(sums.size());
  ForEachProduct(conv, [&](int64_t i, int64_t f, int64_t r) {
    const auto at = [](const Tensor& t, int64_t e) {
      return static_cast<double>(t.flat<float>()[static_cast<size_t>(e)]);
    };
    sums[static_cast<size_t>(r)] += at(image, i) * at(filter, f);
    sizes[static_cast<size_t>(r)] += std::abs(at(image, i) * at(filter, f));
  });
  ASSERT_OK_AND_ASSIGN(const Tensor y, conv.Runner("Conv2D").Run1({image, filter}));
  const std::vector<double> values = AsDoubles(y);
  for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(values[i], sums[i], 3e-7 * sizes[i] + 1e-6) << i;
}

// Elsewhere in its tile a number that is infinite, or huge, leaves no trace.
TEST(WinogradTest, InfinitiesAndNaNsStayInTheirWindows) {
  const ConvCase conv = {"", {1, 16, 16, 16}, {3, 3, 16, 16}, {1, 1}};
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 3e38f, -1e30f, 1e9f}) {
    Tensor image = Counted(DType::kFloat, conv.image, 7), gradient = Counted(DType::kFloat, conv.result(), 9);
    const Tensor filter = Counted(DType::kFloat, conv.filter, 5);
    image.flat<float>()[(5 * 16 + 6) * 16 + 3] = bad;
    gradient.flat<float>()[(9 * 16 + 9) * 16 + 2] = bad;
    ASSERT_OK_AND_ASSIGN(const Tensor y, conv.Runner("Conv2D").Run1({image, filter}));
    ASSERT_OK_AND_ASSIGN(const Tensor dx,
                         conv.Runner("Conv2DBackpropInput").Run1({Sizes(conv.image), filter, gradient}));
    const std::vector<double> clean = ReferenceResult(conv), clean_gradient = ReferenceImageGradient(conv);
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
  const Tensor image = Fractions(conv.image), filter = Fractions(conv.filter), gradient = Fractions(conv.result());
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
