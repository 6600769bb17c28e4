#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "tests/kernels/image/images.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

const std::vector<double> kPixels = {0.1, 0.5, 0.3, 0.9, 0.2, 0.4, 0.3, 0.3, 0.3, 0, 0, 0, 0.2, 0.4, 0.8};

struct ColorCase {
  const char* op;
  float number;  // NaN: the op has none.
  std::vector<double> values;
};

// What TensorFlow 2.19 answers for kPixels.
const ColorCase kCases[] = {
    {"RGBToHSV",
     NAN,
     {0.416666687, 0.8, 0.5, 0.952380955, 0.777777791, 0.9, 0, 0, 0.3, 0, 0, 0, 0.611111104, 0.75, 0.8}},
    {"HSVToRGB", NAN, {0.3, 0.24, 0.15, 0.4, 0.32, 0.368, 0.228, 0.3, 0.21, 0, 0, 0, 0.736, 0.8, 0.48}},
    {"AdjustContrastv2",
     1.5f,
     {0, 0.61, 0.27, 1.2, 0.16, 0.42, 0.3, 0.31, 0.27, -0.15, -0.14, -0.18, 0.15, 0.46, 1.02}},
    {"AdjustHue", 0.3f, {0.22, 0.1, 0.5, 0.54, 0.9, 0.2, 0.3, 0.3, 0.3, 0, 0, 0, 0.8, 0.2, 0.52}},
    {"AdjustSaturation", 1.7f, {0, 0.5, 0.25, 0.9, 0, 0.257142723, 0.3, 0.3, 0.3, 0, 0, 0, 0, 0.2666668, 0.8}},
};

std::vector<Tensor> Inputs(const ColorCase& one, Tensor images) {
  if (std::isnan(one.number)) return {std::move(images)};
  return {std::move(images), Tensor::Scalar(one.number)};
}

TEST(ColorTest, GivesWhatTensorFlowGives) {
  for (const ColorCase& one : kCases) {
    for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16}) {
      if (!std::isnan(one.number) && dtype != DType::kFloat) continue;
      for (const bool movable : {false, true}) {
        ASSERT_OK_AND_ASSIGN(const Tensor y,
                             KernelRunner(one.op).Run1(Inputs(one, TensorOf(dtype, {1, 5, 3}, kPixels)), movable));
        const double tolerance = dtype == DType::kBFloat16 ? 0.02 : dtype == DType::kHalf ? 2e-3 : 1e-5;
        EXPECT_EQ(Difference(y, one.values, tolerance), "") << one.op << " " << DTypeName(dtype);
      }
    }
  }
}

// The same bits on several threads, for a size that is cut into odd shards.
TEST(ColorTest, ThreadsChangeNothing) {
  ThreadPoolOptions options;
  options.num_threads = 3;
  ThreadPool pool(options);
  for (const ColorCase& one : kCases) {
    const Tensor images = Pattern(DType::kFloat, {2, 151, 83, 3}, 97);
    ASSERT_OK_AND_ASSIGN(const Tensor alone, KernelRunner(one.op).Run1(Inputs(one, images)));
    KernelRunner runner(one.op);
    runner.run().task_runner = &pool;
    ASSERT_OK_AND_ASSIGN(const Tensor shared, runner.Run1(Inputs(one, images)));
    EXPECT_EQ(alone.bytes(), shared.bytes()) << one.op;
  }
}

TEST(ColorTest, ContrastKeepsTheMeanOfEachChannelOfEachImage) {
  for (const int64_t channels : {1, 2, 3, 20000}) {
    const Tensor images = Pattern(DType::kFloat, {2, 13, 7, channels}, 31);
    ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("AdjustContrastv2").Run1({images, Tensor::Scalar(-2.0f)}));
    for (const int64_t c : {int64_t{0}, channels - 1}) {
      double before = 0, after = 0;
      for (int64_t i = 0; i < 13 * 7; ++i) {
        const size_t at = static_cast<size_t>((13 * 7 + i) * channels + c);
        before += static_cast<double>(images.flat<float>()[at]);
        after += static_cast<double>(y.flat<float>()[at]);
      }
      EXPECT_NEAR(before, after, 1e-3 * std::abs(before)) << channels;
    }
  }
}

TEST(ColorTest, TakesAnyNumberAndRefusesOtherShapes) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const ColorCase& one : kCases) {
    const std::string op = one.op;
    ASSERT_OK_AND_ASSIGN(const Tensor none, KernelRunner(op).Run1(Inputs(one, FloatsOf({0, 4, 3}, {}))));
    EXPECT_EQ(none.num_elements(), 0);
    const Tensor odd = Tensor::Of<float>(Shape::Of({1, 2, 3}), {nan, inf, -inf, -1, 1e30f, 2});
    EXPECT_OK(KernelRunner(op).Run1(Inputs(one, odd)).status());
    const bool has_number = !std::isnan(one.number);
    for (const float number : {nan, inf, -inf, 1e30f, -1e30f}) {
      if (!has_number) break;
      EXPECT_OK(KernelRunner(op).Run1({odd, Tensor::Scalar(number)}).status());
    }
    const ErrorCode code = has_number ? ErrorCode::kOpShape : ErrorCode::kOpPrecondition;
    if (op != "AdjustContrastv2") {
      EXPECT_THAT(KernelRunner(op).Run1(Inputs(one, Pattern(DType::kFloat, {2, 2, 4}))).status(), IsError(code));
    }
    const Tensor flat = has_number ? Pattern(DType::kFloat, {2, 3}) : Tensor::Scalar(1.0f);
    EXPECT_THAT(KernelRunner(op).Run1(Inputs(one, flat)).status(), IsError(ErrorCode::kOpShape));
    if (!has_number) continue;
    EXPECT_THAT(KernelRunner(op).Run1({odd, Tensor::Vector<float>({1})}).status(), IsError(ErrorCode::kOpShape));
  }
}

}  // namespace
}  // namespace sluice
