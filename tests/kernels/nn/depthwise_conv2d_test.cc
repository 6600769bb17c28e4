#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "kernels/linalg/gemm.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/kernels/nn/conv_reference.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

ConvCase Depthwise(std::string name, Ints image, Ints filter, int64_t stride, std::string padding = "SAME",
                   Ints paddings = {}) {
  return {std::move(name),    std::move(image),    std::move(filter), {stride, stride},
          std::move(padding), std::move(paddings), /*dilations=*/{},  /*is_depthwise=*/true};
}
ConvCase Dilated(std::string name, Ints image, Ints filter, Ints strides, Ints dilations, std::string padding = "SAME",
                 Ints paddings = {}) {
  return {std::move(name),    std::move(image),    std::move(filter),    std::move(strides),
          std::move(padding), std::move(paddings), std::move(dilations), /*is_depthwise=*/true};
}

const std::vector<ConvCase>& Cases() {
  static const std::vector<ConvCase>& cases = *new std::vector<ConvCase>{
      Depthwise("one", {1, 1, 1, 1}, {1, 1, 1, 1}, 1),
      Depthwise("same", {2, 7, 6, 5}, {3, 3, 5, 1}, 1),
      Depthwise("many channels", {1, 5, 6, 131}, {3, 3, 131, 1}, 1),
      Depthwise("stride 2", {2, 8, 7, 70}, {3, 3, 70, 1}, 2),
      Depthwise("stride 3, valid", {1, 11, 10, 3}, {2, 4, 3, 1}, 3, "VALID"),
      Depthwise("stride beyond the window", {1, 9, 10, 4}, {2, 1, 4, 2}, 4),
      Depthwise("multiplier", {2, 6, 7, 3}, {3, 2, 3, 4}, 1),
      Depthwise("multiplier, stride 2", {1, 9, 7, 33}, {3, 3, 33, 2}, 2),
      Depthwise("one channel", {2, 6, 7, 1}, {3, 3, 1, 20}, 1, "VALID"),
      Depthwise("explicit", {1, 5, 6, 4}, {3, 3, 4, 1}, 2, "EXPLICIT", {0, 0, 3, 1, 0, 4, 0, 0}),
      Depthwise("windows in the padding", {1, 2, 2, 3}, {2, 2, 3, 2}, 1, "EXPLICIT", {0, 0, 4, 3, 0, 5, 0, 0}),
      Depthwise("wide window", {1, 4, 5, 2}, {9, 7, 2, 1}, 1),
  };
  return cases;
}

// What TensorFlow for Linux runs, in oneDNN.
const std::vector<ConvCase>& DilatedCases() {
  static const std::vector<ConvCase>& cases = *new std::vector<ConvCase>{
      Dilated("same", {2, 7, 8, 3}, {3, 3, 3, 2}, {1, 1}, {2, 3}),
      Dilated("one axis", {1, 7, 6, 5}, {3, 2, 5, 1}, {1, 1}, {1, 2}),
      Dilated("valid", {1, 9, 8, 70}, {3, 3, 70, 1}, {1, 1}, {3, 2}, "VALID"),
      Dilated("stride", {2, 9, 10, 3}, {3, 2, 3, 2}, {2, 2}, {2, 3}),
      Dilated("strides", {1, 9, 10, 4}, {2, 3, 4, 1}, {2, 2}, {4, 2}),
      Dilated("no dilation, strides", {1, 9, 10, 4}, {2, 3, 4, 3}, {3, 3}, {1, 1}),
      Dilated("explicit", {1, 5, 6, 4}, {3, 3, 4, 1}, {2, 2}, {2, 2}, "EXPLICIT", {0, 0, 3, 1, 0, 4, 0, 0}),
      Dilated("taps beyond the image", {1, 3, 4, 2}, {3, 3, 2, 2}, {1, 1}, {5, 9}),
      Dilated("the largest dilation", {1, 3, 4, 2}, {3, 3, 2, 2}, {1, 1}, {2147483647, 2147483647}),
  };
  return cases;
}

const std::string kForward = "DepthwiseConv2dNative";
const std::string kOfImage = "DepthwiseConv2dNativeBackpropInput";
const std::string kOfFilter = "DepthwiseConv2dNativeBackpropFilter";

TEST(DepthwiseTest, FloatAndBFloat16AreDilated) {
  for (const ConvCase& conv : DilatedCases()) {
    for (const DType dtype : {DType::kFloat, DType::kBFloat16}) {
      const Tensor image = Counted(dtype, conv.image, 7), filter = Counted(dtype, conv.filter, 5);
      ASSERT_OK_AND_ASSIGN(const Tensor y, conv.Runner(kForward).Run1({image, filter}));
      EXPECT_EQ(AsDoubles(y), AsDoubles(Rounded(dtype, conv.result(), ReferenceResult(conv)))) << conv.name;
    }
  }
}

TEST(DepthwiseTest, IsTheSumOfProductsAndSoAreTheGradients) {
  for (const ConvCase& conv : Cases()) {
    for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16}) {
      const Tensor image = Counted(dtype, conv.image, 7), filter = Counted(dtype, conv.filter, 5);
      const Tensor result = Counted(dtype, conv.result(), 9);
      ASSERT_OK_AND_ASSIGN(const Tensor y, conv.Runner(kForward).Run1({image, filter}));
      EXPECT_EQ(y.shape(), result.shape());
      EXPECT_EQ(AsDoubles(y), AsDoubles(Rounded(dtype, conv.result(), ReferenceResult(conv)))) << conv.name;
      ASSERT_OK_AND_ASSIGN(const Tensor dx, conv.Runner(kOfImage).Run1({Sizes(conv.image), filter, result}));
      EXPECT_EQ(dx.shape(), image.shape());
      EXPECT_EQ(AsDoubles(dx), AsDoubles(Rounded(dtype, conv.image, ReferenceImageGradient(conv)))) << conv.name;
      ASSERT_OK_AND_ASSIGN(const Tensor df, conv.Runner(kOfFilter).Run1({image, Sizes(conv.filter), result}));
      EXPECT_EQ(df.shape(), filter.shape());
      EXPECT_EQ(AsDoubles(df), AsDoubles(Rounded(dtype, conv.filter, ReferenceFilterGradient(conv)))) << conv.name;
    }
  }
}

// The loops of all instruction sets of this machine, over numbers of channels and pixels around the blocks'.
template <typename T>
void ExpectLoops(IsaLevel level) {
  for (const int64_t channels : {1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 67, 130}) {
    for (const int64_t pixels : {1, 2, 3}) {
      for (const bool accumulate : {false, true}) {
        constexpr int64_t kRows = 2, kCols = 3;
        std::vector<T> a(static_cast<size_t>((pixels + kRows * kCols) * channels));
        std::vector<T> b(static_cast<size_t>(kRows * kCols * channels));
        for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(static_cast<int>(i % 7) - 3);
        for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(static_cast<int>(i % 5) - 2);
        std::vector<T> out(static_cast<size_t>(pixels * channels), T{100}), wanted = out;
        for (int64_t i = 0; i < pixels * channels; ++i) {
          T sum = accumulate ? T{100} : T{0};
          for (int64_t tap = 0; tap < kRows * kCols; ++tap) {
            sum += a[static_cast<size_t>(i + tap * channels)] * b[static_cast<size_t>(tap * channels + i % channels)];
          }
          wanted[static_cast<size_t>(i)] = sum;
        }
        ChannelProducts<T> products;
        products.channels = products.a_pixel = products.out_pixel = products.a_col = products.b_col = channels;
        products.pixels = pixels;
        products.rows = kRows;
        products.cols = kCols;
        products.a = a.data();
        products.b = b.data();
        products.out = out.data();
        products.a_row = products.b_row = kCols * channels;
        products.accumulate = accumulate;
        GemmOf<T>(level).channels(products);
        EXPECT_EQ(out, wanted) << channels << " channels, " << pixels << " pixels";
      }
    }
  }
}

TEST(DepthwiseTest, LoopsOfEachInstructionSet) {
  for (const IsaLevel level : {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    if (level > BestIsaLevel()) continue;
    ExpectLoops<float>(level);
    ExpectLoops<double>(level);
  }
}

TEST(DepthwiseTest, ThreadsChangeNoBit) {
  for (const int64_t multiplier : {1, 2}) {
    const ConvCase conv = Depthwise("", {2, 31, 40, 36}, {3, 3, 36, multiplier}, 2);
    const std::vector<Tensor> forward = {Fractions(conv.image), Fractions(conv.filter)};
    const std::vector<Tensor> of_image = {Sizes(conv.image), Fractions(conv.filter), Fractions(conv.result())};
    const std::vector<Tensor> of_filter = {Fractions(conv.image), Sizes(conv.filter), Fractions(conv.result())};
    for (const auto& [op, inputs] :
         {std::pair(kForward, forward), std::pair(kOfImage, of_image), std::pair(kOfFilter, of_filter)}) {
      ASSERT_OK_AND_ASSIGN(const Tensor alone, conv.Runner(op).Run1(inputs));
      for (const int num_threads : {2, 8}) {
        ThreadPoolOptions options;
        options.num_threads = num_threads;
        ThreadPool pool(options);
        KernelRunner runner = conv.Runner(op);
        runner.run().task_runner = &pool;
        ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1(inputs));
        EXPECT_EQ(AsDoubles(y), AsDoubles(alone)) << op;
      }
    }
  }
}

absl::StatusOr<Tensor> RunOp(const std::string& op, const ConvCase& conv, std::vector<Tensor> inputs) {
  return conv.Runner(op).Run1(std::move(inputs));
}

TEST(DepthwiseTest, WithoutElementsAllIsZero) {
  const auto floats = [](const Ints& dims) { return Counted(DType::kFloat, dims, 7); };
  const ConvCase conv = Depthwise("", {1, 4, 5, 3}, {2, 3, 3, 2}, 1);
  const struct {
    std::string op;
    std::vector<Tensor> inputs;
    Ints shape;
  } cases[] = {
      {kForward, {floats({0, 4, 5, 3}), floats({2, 3, 3, 2})}, {0, 4, 5, 6}},
      {kForward, {floats({1, 4, 5, 3}), floats({2, 3, 3, 0})}, {1, 4, 5, 0}},
      {kForward, {floats({1, 4, 5, 0}), floats({2, 3, 0, 2})}, {1, 4, 5, 0}},
      {kForward, {floats({1, 4, 5, 3}), floats({0, 3, 3, 2})}, {1, 4, 5, 6}},
      {kOfImage, {Sizes({0, 4, 5, 3}), floats({2, 3, 3, 2}), floats({0, 4, 5, 6})}, {0, 4, 5, 3}},
      {kOfImage, {Sizes({1, 4, 5, 3}), floats({2, 3, 3, 0}), floats({1, 4, 5, 0})}, {1, 4, 5, 3}},
      {kOfImage, {Sizes({1, 4, 5, 3}), floats({0, 3, 3, 2}), floats({1, 4, 5, 6})}, {1, 4, 5, 3}},
      {kOfFilter, {floats({0, 4, 5, 3}), Sizes({2, 3, 3, 2}), floats({0, 4, 5, 6})}, {2, 3, 3, 2}},
      {kOfFilter, {floats({1, 4, 5, 3}), Sizes({0, 3, 3, 2}), floats({1, 4, 5, 6})}, {0, 3, 3, 2}},
  };
  for (const auto& each : cases) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, RunOp(each.op, conv, each.inputs));
    EXPECT_EQ(y.shape(), *Shape::Make(each.shape)) << each.op;
    for (const float value : y.flat<float>()) EXPECT_EQ(value, 0.0f);
  }
}

TEST(DepthwiseTest, RefusesWhatTensorFlowRefuses) {
  const auto floats = [](const Ints& dims) { return Counted(DType::kFloat, dims, 7); };
  const auto code = [](const std::string& op, std::vector<Tensor> inputs, const Ints& strides = {1, 1, 1, 1},
                       const std::string& attr = "", const AttrValue& value = 0) {
    KernelRunner runner(op);
    runner.Attr("strides", strides).Attr("padding", std::string("VALID"));
    if (!attr.empty()) runner.Attr(attr, value);
    return runner.Run1(std::move(inputs)).status().code();
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  const auto kUnimplemented = absl::StatusCode::kUnimplemented;
  const Tensor image = floats({1, 4, 5, 3}), filter = floats({2, 3, 3, 2}), result = floats({1, 3, 3, 6});
  EXPECT_EQ(code(kForward, {image, filter}), absl::StatusCode::kOk);
  EXPECT_EQ(code(kForward, {image, floats({5, 3, 3, 2})}), absl::StatusCode::kOk) << "somewhat too large: no pixels";
  EXPECT_EQ(code(kForward, {image, floats({6, 3, 3, 2})}), kInvalid);
  EXPECT_EQ(code(kForward, {image, floats({2, 3, 4, 2})}), kInvalid);
  EXPECT_EQ(code(kForward, {floats({4, 5, 3}), filter}), kInvalid);
  EXPECT_EQ(code(kForward, {image, floats({3, 3, 2})}), kInvalid);
  EXPECT_EQ(code(kForward, {image, filter}, {1, 1, 2, 1}), kInvalid);
  EXPECT_EQ(code(kForward, {image, filter}, {2, 1, 1, 1}), kUnimplemented);
  EXPECT_EQ(code(kForward, {image, filter}, {1, 0, 0, 1}), kInvalid);
  EXPECT_EQ(code(kForward, {image, filter}, {1, 1, 1, 1}, "dilations", Ints{2, 1, 1, 1}), kInvalid);
  EXPECT_EQ(code(kForward, {image, filter}, {1, 1, 1, 1}, "dilations", Ints{1, 0, 1, 1}), kInvalid);
  EXPECT_EQ(code(kForward, {image, filter}, {1, 1, 1, 1}, "dilations", Ints{1, 1, 1}), kInvalid);
  EXPECT_EQ(code(kOfImage, {Sizes({1, 4, 5, 3}), filter, result}, {2, 1, 1, 1}), kInvalid);
  EXPECT_EQ(code(kOfImage, {Sizes({1, 4, 5, 3}), filter, result}, {1, 1, 1, 1}, "dilations", Ints{1, 2, 2, 1}),
            kUnimplemented);
  // TensorFlow has these in kernels of its own, with other rules.
  const Tensor image64 = Counted(DType::kDouble, {1, 4, 5, 3}, 7), filter64 = Counted(DType::kDouble, {2, 3, 3, 2}, 5);
  EXPECT_EQ(code(kForward, {image64, filter64}, {1, 1, 2, 1}), kInvalid);
  EXPECT_EQ(code(kForward, {image64, filter64}, {2, 1, 1, 1}), kInvalid);
  for (const Ints& dilations : {Ints{1, 2, 2, 1}, Ints{2, 1, 1, 1}, Ints{1, 0, 1, 1}}) {
    EXPECT_EQ(code(kForward, {image64, filter64}, {1, 1, 1, 1}, "dilations", dilations), kUnimplemented);
  }
  EXPECT_EQ(code(kForward, {image, filter}, {1, 1, 1, 1}, "data_format", std::string("NCHW")), kUnimplemented);
  EXPECT_EQ(code(kOfImage, {Sizes({1, 4, 5, 3}), filter, result}), absl::StatusCode::kOk);
  EXPECT_EQ(code(kOfImage, {Sizes({4, 5}), filter, result}), kInvalid);
  EXPECT_EQ(code(kOfImage, {Sizes({1, -4, 5, 3}), filter, result}), kInvalid);
  EXPECT_EQ(code(kOfImage, {Sizes({2147483647, 2147483647, 2147483647, 3}), filter, result}), kInvalid);
  EXPECT_EQ(code(kOfImage, {Sizes({2, 4, 5, 3}), filter, result}), kInvalid);
  EXPECT_EQ(code(kOfImage, {Sizes({1, 4, 5, 3}), filter, floats({1, 3, 3, 5})}), kInvalid);
  EXPECT_EQ(code(kOfFilter, {image, Sizes({2, 3, 3, 2}), result}), absl::StatusCode::kOk);
  EXPECT_EQ(code(kOfFilter, {image, Sizes({2, 3, 3}), result}), kInvalid);
  EXPECT_EQ(code(kOfFilter, {image, Sizes({2147483647, 2147483647, 3, 2147483647}), result}), kInvalid);
}

TEST(DepthwiseTest, TheLargestStridesAndTheirPaddings) {
  const int64_t huge = std::numeric_limits<int32_t>::max();
  const ConvCase stride = Depthwise("", {1, 3, 3, 2}, {2, 2, 2, 1}, huge, "VALID");
  const ConvCase padding =
      Depthwise("", {1, 3, 3, 2}, {2, 2, 2, 1}, huge, "EXPLICIT", {0, 0, huge + 1, huge, huge, huge / 2, 0, 0});
  for (const ConvCase& conv : {stride, padding}) {
    const Tensor image = Counted(DType::kFloat, conv.image, 7), filter = Counted(DType::kFloat, conv.filter, 5);
    const Tensor result = Counted(DType::kFloat, conv.result(), 9);
    ASSERT_OK_AND_ASSIGN(const Tensor y, RunOp(kForward, conv, {image, filter}));
    EXPECT_EQ(AsDoubles(y), ReferenceResult(conv));
    ASSERT_OK_AND_ASSIGN(const Tensor dx, RunOp(kOfImage, conv, {Sizes(conv.image), filter, result}));
    EXPECT_EQ(AsDoubles(dx), ReferenceImageGradient(conv));
    ASSERT_OK_AND_ASSIGN(const Tensor df, RunOp(kOfFilter, conv, {image, Sizes(conv.filter), result}));
    EXPECT_EQ(AsDoubles(df), ReferenceFilterGradient(conv));
  }
}

TEST(DepthwiseTest, AnyMissingMemoryIsAnError) {
  const ConvCase conv = Depthwise("", {1, 9, 9, 3}, {3, 3, 3, 2}, 1);
  int failures = 0;
  for (int64_t limit = 64;; limit = limit * 3 / 2) {
    TrackingAllocator memory(HostAllocator(), limit);
    KernelRunner runner = conv.Runner(kForward);
    runner.run().allocator = &memory;
    const absl::StatusOr<Tensor> y =
        runner.Run1({Counted(DType::kHalf, conv.image, 7), Counted(DType::kHalf, conv.filter, 5)});
    if (y.ok()) break;
    ASSERT_EQ(y.status().code(), absl::StatusCode::kResourceExhausted) << y.status();
    ++failures;
  }
  EXPECT_GE(failures, 3);
}

// The fused op gives the bits of the ops one by one.
TEST(FusedDepthwiseTest, IsTheSameAsTheOpsOneByOne) {
  const ConvCase conv = Depthwise("", {2, 6, 7, 20}, {3, 3, 20, 2}, 1);
  const Tensor image = Fractions(conv.image), filter = Fractions(conv.filter), bias = Fractions({40});
  ASSERT_OK_AND_ASSIGN(const Tensor sums, RunOp(kForward, conv, {image, filter}));
  ASSERT_OK_AND_ASSIGN(const Tensor biased, KernelRunner("BiasAdd").Run1({sums, bias}));
  for (const std::string activation : {"", "Relu", "Relu6", "Elu"}) {
    KernelRunner runner("_FusedDepthwiseConv2dNative");
    std::vector<std::string> ops = {"BiasAdd"};
    if (!activation.empty()) ops.push_back(activation);
    runner.Attr("strides", Ints{1, 1, 1, 1}).Attr("padding", std::string("SAME")).Attr("num_args", int64_t{1});
    runner.Attr("fused_ops", AttrValue(ops));
    ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1({image, filter, bias}));
    Tensor wanted = biased;
    if (!activation.empty()) {
      ASSERT_OK_AND_ASSIGN(wanted, KernelRunner(activation).Run1({biased}));
    }
    EXPECT_EQ(AsDoubles(y), AsDoubles(wanted)) << activation;
    EXPECT_EQ(runner.Run1({image, filter, Fractions({39})}).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace sluice
