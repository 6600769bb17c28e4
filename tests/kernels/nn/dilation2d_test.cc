#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "graph/value/float16.h"
#include "gtest/gtest.h"
#include "tests/kernels/nn/conv_reference.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

const std::string kForward = "Dilation2D";
const std::string kOfImage = "Dilation2DBackpropInput";
const std::string kOfFilter = "Dilation2DBackpropFilter";

KernelRunner Runner(const std::string& op, const Ints& strides = {1, 1, 1, 1}, const Ints& rates = {1, 1, 1, 1},
                    const std::string& padding = "SAME") {
  KernelRunner runner(op);
  runner.Attr("strides", strides).Attr("rates", rates).Attr("padding", padding);
  return runner;
}

std::vector<double> Values(KernelRunner runner, std::vector<Tensor> inputs) {
  const absl::StatusOr<Tensor> made = runner.Run1(std::move(inputs));
  EXPECT_OK(made);
  return made.ok() ? AsDoubles(*made) : std::vector<double>();
}

// |-modulus/2 ...| times `factor`, as the goldens of small integers were made.
Tensor Scaled(DType dtype, const Ints& dims, int modulus, double factor) {
  std::vector<double> values = AsDoubles(Counted(DType::kDouble, dims, modulus));
  for (double& value : values) value = (dtype == DType::kUInt8 ? std::fabs(value) : value) * factor;
  return Rounded(dtype, dims, values);
}

const Ints kImage = {1, 3, 4, 2};
const Ints kFilter = {2, 2, 2};

// What TensorFlow 2.19.1 answers.
TEST(Dilation2DTest, GivesWhatTensorFlowGives) {
  const std::vector<double> sums = {0, 1, 2, 3, 4, 1, 1, -4, 1, 2, 3, 4, 5, 2, 0, -3, 1, 3, 3, 1, 1, 0, -4, -2};
  const std::vector<double> image = {0, 0, 0, -3, 0, 0, 2, 3, -4, 0, -2, -4, 0, -2, 0, 2, 4, 0, 0, 1, -7, 0, 1, 0};
  const std::vector<double> filter = {0, 4, -1, -7, -5, 0, 0, 0};
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16, DType::kInt8, DType::kInt16,
                            DType::kInt32, DType::kInt64}) {
    const Tensor x = Counted(dtype, kImage, 7), f = Counted(dtype, kFilter, 5), y = Counted(dtype, kImage, 9);
    EXPECT_EQ(Values(Runner(kForward), {x, f}), sums) << DTypeName(dtype);
    EXPECT_EQ(Values(Runner(kOfImage), {x, f, y}), image) << DTypeName(dtype);
    EXPECT_EQ(Values(Runner(kOfFilter), {x, f, y}), filter) << DTypeName(dtype);
  }
}

// So does it with sums that wrap around.
TEST(Dilation2DTest, SmallIntegersWrapAround) {
  const Tensor x = Scaled(DType::kUInt8, kImage, 7, 60), f = Scaled(DType::kUInt8, kFilter, 5, 60);
  EXPECT_EQ(Values(Runner(kForward, {1, 1, 1, 1}, {1, 1, 2, 1}, "VALID"), {x, f}),
            (std::vector<double>{240, 180, 240, 240, 240, 240, 180, 240}));
  EXPECT_EQ(Values(Runner(kForward, {1, 2, 1, 1}),
                   {Scaled(DType::kInt8, kImage, 7, 40), Scaled(DType::kInt8, kFilter, 5, 40)}),
            (std::vector<double>{56, 40, 80, 120, 120, 40, 40, 96, 40, 120, 120, 40, 40, 96, 96, -80}));
  const Tensor y = Scaled(DType::kUInt8, kImage, 9, 60);
  EXPECT_EQ(Values(Runner(kOfImage), {x, f, y}),
            (std::vector<double>{0,  180, 120, 0,   0,   60, 120, 240, 224, 240, 0,   0,
                                 60, 120, 0,   120, 180, 0,  240, 240, 180, 240, 180, 60}));
  EXPECT_EQ(Values(Runner(kOfFilter), {x, f, y}), (std::vector<double>{192, 72, 120, 148, 44, 0, 180, 0}));
  const uint64_t top = uint64_t{1} << 63;
  const Tensor large = Tensor::Of<uint64_t>(Shape::Of({1, 1, 3, 1}), {~uint64_t{0} - 2, 5, top});
  ASSERT_OK_AND_ASSIGN(const Tensor made,
                       Runner(kForward).Run1({large, Tensor::Of<uint64_t>(Shape::Of({1, 2, 1}), {1, 4})}));
  EXPECT_EQ(std::vector<uint64_t>(made.flat<uint64_t>().begin(), made.flat<uint64_t>().end()),
            (std::vector<uint64_t>{~uint64_t{0} - 1, top + 4, top + 1}));
  const Tensor small = Tensor::Of<uint32_t>(Shape::Of({1, 1, 2, 1}), {0xFFFFFFFFu, 0x80000000u});
  EXPECT_EQ(Values(Runner(kForward), {small, Tensor::Of<uint32_t>(Shape::Of({1, 1, 1}), {2})}),
            (std::vector<double>{1, 2147483650.0}));
  EXPECT_EQ(Values(Runner(kForward),
                   {Scaled(DType::kUInt16, {1, 1, 2, 1}, 2, 1), Tensor::Of<uint16_t>(Shape::Of({1, 1, 1}), {3})}),
            (std::vector<double>{2, 3}));
}

// Nothing exceeds the lowest finite value: the gradients go to the first place, as in TensorFlow.
TEST(Dilation2DTest, InfinitiesAndNaN) {
  const double lowest = -3.4028234663852886e38;
  for (const float nothing : {-std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const Tensor x = Tensor::Of<float>(Shape::Of({1, 3, 3, 1}), std::vector<float>(9, nothing));
    const Tensor f = Counted(DType::kFloat, {2, 3, 1}, 5);
    const Tensor y = Tensor::Of<float>(Shape::Of({1, 3, 3, 1}), std::vector<float>(9, 1));
    EXPECT_EQ(Values(Runner(kForward), {x, f}), std::vector<double>(9, lowest));
    EXPECT_EQ(Values(Runner(kOfImage), {x, f, y}), (std::vector<double>{2, 1, 0, 2, 1, 0, 2, 1, 0}));
    EXPECT_EQ(Values(Runner(kOfFilter), {x, f, y}), (std::vector<double>{9, 0, 0, 0, 0, 0}));
  }
  const Tensor half = Tensor::Of<Half>(Shape::Of({1, 1, 1, 1}), {Half(-INFINITY)});
  EXPECT_EQ(Values(Runner(kForward), {half, Tensor::Of<Half>(Shape::Of({1, 1, 1}), {Half(0.0f)})}),
            std::vector<double>{-65504});
  const Tensor low = Tensor::Of<BFloat16>(Shape::Of({1, 1, 1, 1}), {BFloat16(-INFINITY)});
  EXPECT_EQ(Values(Runner(kForward), {low, Tensor::Of<BFloat16>(Shape::Of({1, 1, 1}), {BFloat16(0.0f)})}),
            std::vector<double>{-3.3895313892515355e38});
}

// 2048.25 and 2048.5 are the same half, and the first of equal sums counts.
TEST(Dilation2DTest, HalvesAreRoundedBeforeTheyAreCompared) {
  const Tensor x = Tensor::Of<Half>(Shape::Of({1, 1, 3, 1}), std::vector<Half>(3, Half(2048.0f)));
  const Tensor f = Tensor::Of<Half>(Shape::Of({1, 2, 1}), {Half(0.25f), Half(0.5f)});
  const Tensor y = Tensor::Of<Half>(Shape::Of({1, 1, 3, 1}), std::vector<Half>(3, Half(1.0f)));
  EXPECT_EQ(Values(Runner(kOfImage), {x, f, y}), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(Values(Runner(kOfFilter), {x, f, y}), (std::vector<double>{3, 0}));
}

TEST(Dilation2DTest, ThreadsChangeNoBit) {
  const Tensor x = Fractions({2, 20, 30, 150}), f = Fractions({3, 3, 150}), y = Fractions({2, 10, 30, 150});
  for (const std::string& op : {kForward, kOfImage, kOfFilter}) {
    std::vector<Tensor> inputs = {x, f};
    if (op != kForward) inputs.push_back(y);
    const std::vector<double> alone = Values(Runner(op, {1, 2, 1, 1}), inputs);
    for (const int num_threads : {2, 8}) {
      ThreadPoolOptions options;
      options.num_threads = num_threads;
      ThreadPool pool(options);
      KernelRunner runner = Runner(op, {1, 2, 1, 1});
      runner.run().task_runner = &pool;
      const absl::StatusOr<Tensor> made = runner.Run1(inputs);
      ASSERT_OK(made);
      EXPECT_EQ(AsDoubles(*made), alone) << op;
    }
  }
}

TEST(Dilation2DTest, WithoutElements) {
  const auto floats = [](const Ints& dims) { return Counted(DType::kFloat, dims, 7); };
  const double lowest = -3.4028234663852886e38;
  EXPECT_EQ(Values(Runner(kForward), {floats({0, 3, 4, 2}), floats({2, 2, 2})}), std::vector<double>());
  EXPECT_EQ(Values(Runner(kForward), {floats({1, 2, 2, 0}), floats({2, 2, 0})}), std::vector<double>());
  EXPECT_EQ(Values(Runner(kForward), {floats({1, 1, 2, 1}), floats({0, 2, 1})}), std::vector<double>(2, lowest));
  EXPECT_EQ(Values(Runner(kOfImage), {floats({1, 1, 2, 1}), floats({0, 2, 1}), floats({1, 1, 2, 1})}),
            AsDoubles(floats({1, 1, 2, 1})));
  EXPECT_EQ(Values(Runner(kOfFilter), {floats({0, 3, 4, 2}), floats({1, 2, 2}), floats({0, 3, 4, 2})}),
            std::vector<double>(4, 0));
  // One row more than the image has: no result, and in the gradient of an empty filter no pixel to go to.
  EXPECT_EQ(Values(Runner(kOfImage, {1, 1, 1, 1}, {1, 1, 1, 1}, "VALID"),
                   {floats({1, 2, 2, 1}), floats({3, 1, 1}), floats({1, 0, 2, 1})}),
            std::vector<double>(4, 0));
  EXPECT_EQ(Values(Runner(kOfImage, {1, 1, 1, 1}, {1, 1, 1, 1}, "VALID"),
                   {floats({1, 1, 1, 1}), floats({0, 1, 1}), Tensor::Of<float>(Shape::Of({1, 2, 1, 1}), {3, 5})}),
            std::vector<double>{3});
}

TEST(Dilation2DTest, RefusesWhatTensorFlowRefuses) {
  const auto floats = [](const Ints& dims) { return Counted(DType::kFloat, dims, 7); };
  const auto code = [](KernelRunner runner, std::vector<Tensor> inputs) {
    return runner.Run1(std::move(inputs)).status().code();
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  const auto kUnimplemented = absl::StatusCode::kUnimplemented;
  const Tensor x = floats(kImage), f = floats(kFilter);
  EXPECT_EQ(code(Runner(kForward, {2, 1, 1, 1}), {x, f}), kUnimplemented);
  EXPECT_EQ(code(Runner(kForward, {1, 1, 1, 1}, {1, 1, 1, 2}), {x, f}), kUnimplemented);
  EXPECT_EQ(code(Runner(kForward, {1, 0, 1, 1}), {x, f}), kInvalid);
  EXPECT_EQ(code(Runner(kForward, {1, 1, 1}), {x, f}), kInvalid);
  EXPECT_EQ(code(Runner(kForward), {floats({3, 4, 2}), f}), kInvalid);
  EXPECT_EQ(code(Runner(kForward), {x, floats({2, 2})}), kInvalid);
  EXPECT_EQ(code(Runner(kForward), {x, floats({2, 2, 3})}), kInvalid);
  EXPECT_EQ(code(Runner(kForward, {1, 1, 1, 1}, {1, 1, 1, 1}, "VALID"), {x, floats({5, 2, 2})}), kInvalid);
  EXPECT_EQ(
      code(Runner(kForward, {1, 1, 1, 1}, {1, std::numeric_limits<int64_t>::max(), 1, 1}), {x, floats({3, 2, 2})}),
      kInvalid);
  for (const std::string& op : {kOfImage, kOfFilter}) {
    EXPECT_EQ(code(Runner(op), {x, f, floats({1, 3, 3, 2})}), kInvalid);
    EXPECT_EQ(code(Runner(op), {x, f, floats({3, 4, 2})}), kInvalid);
  }
}

}  // namespace
}  // namespace sluice
