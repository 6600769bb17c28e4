#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/kernels/image/images.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

Tensor Size(int32_t height, int32_t width) { return Tensor::Vector<int32_t>({height, width}); }

KernelRunner Runner(const std::string& op, const std::string& noise) {
  KernelRunner runner(op);
  runner.Attr("noise", noise).Attr("uniform_noise", noise == "uniform");
  return runner;
}

struct GlimpseCase {
  const char* op;
  bool centered, normalized;
  std::vector<double> values;
};

// What TensorFlow 2.19 answers for a window of [2, 3] at (0.6, -1.2).
const GlimpseCase kCases[] = {
    {"ExtractGlimpse", true, true, {0, 6, 2, 0, 1, 8}},    {"ExtractGlimpse", true, false, {0, 7, 3, 6, 2, 9}},
    {"ExtractGlimpse", false, true, {0, 0, 0, 0, 0, 0}},   {"ExtractGlimpse", false, false, {0, 0, 0, 0, 0, 6}},
    {"ExtractGlimpseV2", true, true, {0, 6, 2, 0, 1, 8}},  {"ExtractGlimpseV2", true, false, {1, 8, 4, 0, 0, 0}},
    {"ExtractGlimpseV2", false, true, {0, 0, 0, 0, 0, 0}}, {"ExtractGlimpseV2", false, false, {0, 0, 7, 0, 6, 2}},
};

TEST(GlimpseTest, WindowsLieWhereTensorFlowPutsThem) {
  for (const GlimpseCase& one : kCases) {
    KernelRunner runner = Runner(one.op, "zero");
    runner.Attr("centered", one.centered).Attr("normalized", one.normalized);
    ASSERT_OK_AND_ASSIGN(
        const Tensor y, runner.Run1({Pattern(DType::kFloat, {1, 3, 4, 1}), Size(2, 3), FloatsOf({1, 2}, {0.6, -1.2})}));
    EXPECT_EQ(Difference(y, one.values), "") << one.op << " " << one.centered << one.normalized;
  }
}

TEST(GlimpseTest, NoiseStaysBetweenTheLeastAndTheGreatestPixel) {
  const Tensor images = Pattern(DType::kFloat, {2, 5, 6, 3}), offsets = FloatsOf({2, 2}, {0.9, 0.9, 0, 0});
  for (const char* noise : {"uniform", "gaussian", ""}) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, Runner("ExtractGlimpseV2", noise).Run1({images, Size(40, 30), offsets}));
    const std::vector<double> values = DoublesOf(y);
    EXPECT_GE(*std::min_element(values.begin(), values.end()), 0) << noise;
    EXPECT_LE(*std::max_element(values.begin(), values.end()), 10) << noise;
    double sum = 0;
    for (const double value : values) sum += value;
    EXPECT_NEAR(sum / static_cast<double>(values.size()), 5, 0.5) << noise;
    ASSERT_OK_AND_ASSIGN(const Tensor again, Runner("ExtractGlimpseV2", noise).Run1({images, Size(40, 30), offsets}));
    EXPECT_EQ(y.bytes(), again.bytes());
  }
}

TEST(GlimpseTest, OffsetsThatAreNoPlaceGiveNoise) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Tensor image = Pattern(DType::kFloat, {1, 3, 4, 1});
  for (const float offset : {nan, inf, -inf, 1e30f, -1e30f}) {
    ASSERT_OK_AND_ASSIGN(
        const Tensor y,
        Runner("ExtractGlimpse", "zero").Run1({image, Size(2, 2), Tensor::Of<float>(Shape::Of({1, 2}), {0, offset})}));
    EXPECT_EQ(Difference(y, {0, 0, 0, 0}), "") << offset;
  }
  // No pixels to take anything from.
  ASSERT_OK_AND_ASSIGN(
      const Tensor y,
      Runner("ExtractGlimpse", "uniform").Run1({FloatsOf({1, 0, 4, 1}, {}), Size(1, 2), FloatsOf({1, 2}, {0, 0})}));
  EXPECT_EQ(Difference(y, {0, 0}), "");
}

TEST(GlimpseTest, RefusesBadInputs) {
  const Tensor image = Pattern(DType::kFloat, {1, 3, 4, 1}), offset = FloatsOf({1, 2}, {0, 0});
  const auto run = [](const Tensor& images, const Tensor& size, const Tensor& offsets) {
    return Runner("ExtractGlimpse", "zero").Run1({images, size, offsets}).status();
  };
  EXPECT_OK(run(image, Size(0, 2147483647), offset));
  EXPECT_THAT(run(image, Size(-1, 2), offset), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run(image, Tensor::Vector<int32_t>({2}), offset), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(image, Size(2, 2), FloatsOf({2, 2}, {0, 0, 0, 0})), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(FloatsOf({2}, {0, 0}), Size(2, 2), offset), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(Runner("ExtractGlimpse", "loud").Run1({image, Size(2, 2), offset}).status(), IsError(ErrorCode::kOpAttr));
  EXPECT_THAT(KernelRunner("ExtractGlimpse").Attr("noise", "zero").Run1({image, Size(2, 2), offset}).status(),
              IsError(ErrorCode::kOpAttr));
}

}  // namespace
}  // namespace sluice
