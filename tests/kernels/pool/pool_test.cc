// MaxPool, AvgPool and their kin against plain references, in all dtypes.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/base/cancellation.h"
#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/kernels/pool/number_tensors.h"
#include "tests/kernels/pool/plain_windows.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

const std::vector<DType>& RealTypes() {
  static const std::vector<DType>& types =
      *new std::vector<DType>{DType::kFloat, DType::kDouble, DType::kHalf,   DType::kBFloat16, DType::kInt8,
                              DType::kUInt8, DType::kInt16,  DType::kUInt16, DType::kInt32,    DType::kInt64};
  return types;
}
const std::vector<DType>& VolumeTypes() {
  static const std::vector<DType>& types = *new std::vector<DType>{DType::kFloat, DType::kHalf, DType::kBFloat16};
  return types;
}
const std::vector<DType>& FloatTypes() {
  static const std::vector<DType>& types =
      *new std::vector<DType>{DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16};
  return types;
}
bool IsUnsigned(DType type) { return type == DType::kUInt8 || type == DType::kUInt16; }

Doubles MaximaOf(const PlainWindows& windows, const Doubles& image) {
  Doubles maxima;
  for (const Sizes& places : windows.elements) {
    double largest = -INFINITY;
    for (const int64_t place : places) largest = std::max(largest, image[static_cast<size_t>(place)]);
    maxima.push_back(largest);
  }
  return maxima;
}

void ExpectMaxima(const PoolCase& c, DType type) {
  SCOPED_TRACE(c.name + " " + std::string(DTypeName(type)));
  const Doubles image = Scrambled(CountOf(c.image), 101, IsUnsigned(type) ? 0 : 90);
  const PlainWindows windows = WindowsOf(c);
  ASSERT_OK_AND_ASSIGN(const Tensor y, c.Runner(c.op("MaxPool")).Run1({NumberTensor(type, c.image, image)}));
  EXPECT_EQ(y.dtype(), type);
  EXPECT_EQ(y.shape(), *Shape::Make(windows.output));
  EXPECT_EQ(NumbersOf(y), MaximaOf(windows, image));
}

TEST(PoolTest, MaximaOfAllDtypes) {
  for (const PoolCase& c : PoolCases()) {
    for (const DType type : c.is_volume() ? VolumeTypes() : RealTypes()) ExpectMaxima(c, type);
  }
  for (const DType type : RealTypes()) ExpectMaxima(ExplicitCase(), type);
}

TEST(PoolTest, WindowAndStridesMayBeInputs) {
  for (const PoolCase& c : PoolCases()) {
    if (c.is_volume()) continue;
    SCOPED_TRACE(c.name);
    const Doubles image = Scrambled(CountOf(c.image), 101);
    KernelRunner runner("MaxPoolV2");
    runner.Attr("padding", c.padding);
    ASSERT_OK_AND_ASSIGN(const Tensor y,
                         runner.Run1({NumberTensor(DType::kFloat, c.image, image),
                                      NumberTensor(DType::kInt32, {4}, {c.window.begin(), c.window.end()}),
                                      NumberTensor(DType::kInt32, {4}, {c.strides.begin(), c.strides.end()})}));
    EXPECT_EQ(NumbersOf(y), MaximaOf(WindowsOf(c), image));
  }
}

TEST(PoolTest, MeansOfAllDtypes) {
  for (const PoolCase& c : PoolCases()) {
    const Doubles image = Scrambled(CountOf(c.image), 101, 50);
    const PlainWindows windows = WindowsOf(c);
    for (const DType type : FloatTypes()) {
      SCOPED_TRACE(c.name + " " + std::string(DTypeName(type)));
      ASSERT_OK_AND_ASSIGN(const Tensor y, c.Runner(c.op("AvgPool")).Run1({NumberTensor(type, c.image, image)}));
      EXPECT_EQ(y.shape(), *Shape::Make(windows.output));
      const Doubles means = NumbersOf(y);
      const double tolerance = type == DType::kBFloat16 ? 0.2 : type == DType::kHalf ? 0.03 : 1e-5;
      for (size_t i = 0; i < means.size(); ++i) {
        double sum = 0;
        for (const int64_t place : windows.elements[i]) sum += image[static_cast<size_t>(place)];
        EXPECT_NEAR(means[i], sum / static_cast<double>(windows.elements[i].size()), tolerance) << i;
      }
    }
  }
}

TEST(PoolTest, LargestNumbersOfWideTypesKeepTheirOrder) {
  const PoolCase c{"", {1, 1, 2, 1}, {1, 1, 2, 1}, {1, 1, 1, 1}};
  const int64_t large = std::numeric_limits<int64_t>::max();
  const Tensor image = Tensor::Of<int64_t>(Shape::Of({1, 1, 2, 1}), {large - 1, large});
  EXPECT_EQ(c.Runner("MaxPool").Run1({image})->flat<int64_t>()[0], large);
}

// As TensorFlow 2.19.1: NaNs are left out, and nothing is below the lowest finite number of images; of volumes minus
// infinity is (for as many channels as vectors take).
TEST(PoolTest, WindowsOfNaNsAndInfinities) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const PoolCase image{"", {1, 1, 4, 1}, {1, 1, 2, 1}, {1, 1, 2, 1}};
  const PoolCase volume{"", {1, 1, 1, 4, 1}, {1, 1, 1, 2, 1}, {1, 1, 1, 2, 1}};
  const auto pool = [](const PoolCase& c, DType type, const Doubles& values) {
    return NumbersOf(c.Runner(c.op("MaxPool")).Run1({NumberTensor(type, c.image, values)}).value());
  };
  const Doubles some = {nan, 3, 2, nan};
  const Doubles none = {nan, nan, -INFINITY, -INFINITY};
  EXPECT_EQ(pool(image, DType::kFloat, some), (Doubles{3, 2}));
  EXPECT_EQ(pool(volume, DType::kFloat, some), (Doubles{3, 2}));
  EXPECT_EQ(pool(image, DType::kFloat, none), Doubles(2, std::numeric_limits<float>::lowest()));
  EXPECT_EQ(pool(image, DType::kDouble, none), Doubles(2, std::numeric_limits<double>::lowest()));
  EXPECT_EQ(pool(image, DType::kHalf, none), Doubles(2, -65504));
  EXPECT_EQ(pool(volume, DType::kFloat, none), Doubles(2, -INFINITY));
}

TEST(PoolTest, WindowsInThePaddingOfAnEmptyImageAreTheLowestNumber) {
  PoolCase c{"", {1, 0, 2, 1}, {1, 2, 1, 1}, {1, 1, 1, 1}, "EXPLICIT", {0, 0, 1, 1, 0, 0, 0, 0}};
  const auto pool = [&](DType type) {
    return NumbersOf(c.Runner("MaxPool").Run1({NumberTensor(type, c.image, {})}).value());
  };
  EXPECT_EQ(pool(DType::kFloat), Doubles(2, std::numeric_limits<float>::lowest()));
  EXPECT_EQ(pool(DType::kInt8), Doubles(2, -128));
  EXPECT_EQ(pool(DType::kUInt16), Doubles(2, 0));
  EXPECT_EQ(pool(DType::kInt32), Doubles(2, std::numeric_limits<int32_t>::lowest()));
  // Columns without number, in strides that leave out all but a few: no memory is asked for them.
  TrackingAllocator memory(HostAllocator(), 1 << 20);
  const int64_t columns = int64_t{1} << 40;
  c = {"", {1, 0, columns, 1}, {1, 2, 1, 1}, {1, 1, columns >> 10, 1}, "EXPLICIT", {0, 0, 1, 1, 0, 0, 0, 0}};
  KernelRunner runner = c.Runner("MaxPool");
  runner.run().allocator = &memory;
  EXPECT_EQ(runner.Run1({NumberTensor(DType::kFloat, c.image, {})})->shape(), Shape::Of({1, 1, 1024, 1}));
}

TEST(PoolTest, GroupsOfChannels) {
  const PoolCase c{"", {1, 1, 2, 6}, {1, 1, 1, 3}, {1, 1, 1, 3}};
  const Doubles image = {1, 5, 2, -7, -9, -8, 3, 3, 3, 0, 0, 4};
  for (const DType type : {DType::kFloat, DType::kHalf, DType::kInt8, DType::kInt64}) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, c.Runner("MaxPool").Run1({NumberTensor(type, c.image, image)}));
    EXPECT_EQ(y.shape(), Shape::Of({1, 1, 2, 2}));
    EXPECT_EQ(NumbersOf(y), (Doubles{5, -7, 3, 4}));
  }
}

TEST(PoolTest, ChannelsMayComeSecond) {
  const PoolCase last{"", {1, 3, 4, 2}, {1, 2, 3, 1}, {1, 1, 2, 1}, "SAME"};
  const PoolCase second{"", {1, 2, 3, 4}, {1, 1, 2, 3}, {1, 1, 1, 2}, "SAME"};
  const Tensor image = NumberTensor(DType::kFloat, last.image, Scrambled(24, 50));
  const auto transpose = [](const Tensor& tensor, const Doubles& order) {
    return KernelRunner("Transpose").Run1({tensor, NumberTensor(DType::kInt32, {4}, order)}).value();
  };
  for (const char* op : {"MaxPool", "AvgPool"}) {
    KernelRunner runner = second.Runner(op);
    runner.Attr("data_format", "NCHW");
    ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1({transpose(image, {0, 3, 1, 2})}));
    EXPECT_EQ(NumbersOf(transpose(y, {0, 2, 3, 1})), NumbersOf(last.Runner(op).Run1({image}).value())) << op;
  }
}

TEST(PoolTest, ThreadsAndMovedInputsChangeNoBit) {
  const PoolCase c{"", {3, 40, 30, 19}, {1, 3, 3, 1}, {1, 2, 1, 1}, "SAME"};
  Doubles image = Scrambled(CountOf(c.image), 1013);
  for (double& value : image) value *= 0.0013;
  for (const DType type : FloatTypes()) {
    const Tensor tensor = NumberTensor(type, c.image, image);
    ExpectSameBitsInAllWays([&] { return c.Runner("AvgPool"); }, {tensor});
    ExpectSameBitsInAllWays([&] { return c.Runner("MaxPool"); }, {tensor});
  }
}

absl::Status StatusOf(const PoolCase& c, const std::string& op = "MaxPool", const std::string& format = "") {
  KernelRunner runner = c.Runner(op);
  if (!format.empty()) runner.Attr("data_format", format);
  return runner.Run1({NumberTensor(DType::kFloat, c.image, Scrambled(CountOf(c.image), 9))}).status();
}

TEST(PoolTest, RefusesWhatTensorFlowRefuses) {
  const Sizes image = {1, 4, 4, 2};
  const int64_t huge = int64_t{1} << 33;
  for (const std::string op : {"MaxPool", "AvgPool"}) {
    SCOPED_TRACE(op);
    const auto code = [&op](const PoolCase& c) { return StatusOf(c, op).code(); };
    const auto invalid = absl::StatusCode::kInvalidArgument;
    EXPECT_EQ(code({"", {4, 4, 2}, {1, 2, 2, 1}, {1, 1, 1, 1}}), invalid);
    EXPECT_EQ(code({"", {1, 4, 4, 2, 1}, {1, 2, 2, 1}, {1, 1, 1, 1}}), invalid);
    EXPECT_EQ(code({"", image, {1, 2, 2, 1, 1}, {1, 1, 1, 1}}), invalid);
    EXPECT_EQ(code({"", image, {1, 0, 2, 1}, {1, 1, 1, 1}}), invalid);
    EXPECT_EQ(code({"", image, {1, -1, 2, 1}, {1, 1, 1, 1}}), invalid);
    EXPECT_EQ(code({"", image, {1, 2, 2, 1}, {1, 0, 1, 1}}), invalid);
    EXPECT_EQ(code({"", image, {1, huge, 2, 1}, {1, 1, 1, 1}}), invalid);
    EXPECT_EQ(code({"", image, {1, 2, 2, 1}, {1, 1, huge, 1}}), invalid);
    EXPECT_EQ(code({"", image, {1, 9, 2, 1}, {1, 1, 1, 1}}), invalid);
    EXPECT_EQ(code({"", image, {2, 1, 1, 1}, {1, 1, 1, 1}}), absl::StatusCode::kUnimplemented);
    EXPECT_EQ(code({"", image, {1, 1, 1, 1}, {2, 1, 1, 1}}), absl::StatusCode::kUnimplemented);
    EXPECT_EQ(code({"", image, {1, 2, 2, 2}, {1, 1, 1, 2}}), absl::StatusCode::kUnimplemented);
  }
  EXPECT_EQ(StatusOf({"", image, {1, 1, 1, 2}, {1, 1, 1, 1}}).code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(StatusOf({"", {1, 2, 2, 3}, {1, 1, 1, 2}, {1, 1, 1, 2}}).code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(StatusOf({"", image, {1, 2, 2, 1}, {1, 1, 1, 1}}, "MaxPool", "NCHW_VECT_C").code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PoolTest, RefusesPaddingThatIsNotLessThanTheWindow) {
  const auto status = [](const Sizes& paddings) {
    return StatusOf({"", {1, 4, 4, 1}, {1, 2, 2, 1}, {1, 1, 1, 1}, "EXPLICIT", paddings});
  };
  EXPECT_OK(status({0, 0, 1, 1, 1, 0, 0, 0}));
  for (const Sizes& paddings : std::vector<Sizes>{{0, 0, 2, 0, 0, 0, 0, 0},
                                                  {0, 0, 0, 0, 0, 2, 0, 0},
                                                  {0, 0, -1, 0, 0, 0, 0, 0},
                                                  {1, 0, 0, 0, 0, 0, 0, 0},
                                                  {0, 0, 0, 0, 0, 0, 0, 1},
                                                  {0, 0, 1, 0},
                                                  {0, 0, int64_t{1} << 62, int64_t{1} << 62, 0, 0, 0, 0}}) {
    const absl::Status refused = status(paddings);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << paddings.size();
    EXPECT_TRUE(absl::StrContains(refused.message(), "explicit_paddings")) << refused;
  }
}

TEST(PoolTest, RefusesWindowsThatAreInputsAndBad) {
  const auto status = [](const Tensor& window, const Tensor& strides) {
    KernelRunner runner("MaxPoolV2");
    runner.Attr("padding", "VALID");
    return runner.Run1({NumberTensor(DType::kFloat, {1, 2, 2, 1}, {1, 2, 3, 4}), window, strides}).status();
  };
  const auto list = [](const Doubles& values) {
    return NumberTensor(DType::kInt32, {static_cast<int64_t>(values.size())}, values);
  };
  EXPECT_OK(status(list({1, 2, 2, 1}), list({1, 1, 1, 1})));
  EXPECT_THAT(status(list({1, 2, 2}), list({1, 1, 1, 1})), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(status(list({1, 2, 2, 1}), list({})), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(status(list({1, 0, 2, 1}), list({1, 1, 1, 1})), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(status(list({1, 2, 2, 1}), list({1, -1, 1, 1})), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(status(list({2, 2, 2, 1}), list({1, 1, 1, 1})), IsError(ErrorCode::kOpUnimplemented));
}

TEST(PoolTest, ImagesWithoutElementsMayHaveAnySizes) {
  const int64_t huge = int64_t{1} << 28;
  TrackingAllocator memory(HostAllocator(), 1 << 20);
  for (const Sizes& image : std::vector<Sizes>{{0, huge, huge, 4}, {huge, 0, huge, 4}, {huge, huge, 4, 0}}) {
    KernelRunner runner = PoolCase{"", image, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME"}.Runner("MaxPool");
    runner.run().allocator = &memory;
    EXPECT_EQ(runner.Run1({NumberTensor(DType::kFloat, image, {})})->num_elements(), 0);
  }
}

TEST(PoolTest, AnyMissingMemoryIsAnError) {
  const PoolCase c{"", {1, 9, 9, 30}, {1, 2, 2, 1}, {1, 2, 2, 1}};
  const Tensor image = NumberTensor(DType::kHalf, c.image, Scrambled(CountOf(c.image), 99));
  int failures = 0;
  for (int64_t limit = 64;; limit = limit * 3 / 2) {
    TrackingAllocator memory(HostAllocator(), limit);
    KernelRunner runner = c.Runner("AvgPool");
    runner.run().allocator = &memory;
    const absl::StatusOr<Tensor> y = runner.Run1({image});
    if (y.ok()) break;
    ASSERT_EQ(y.status().code(), absl::StatusCode::kResourceExhausted) << y.status();
    ++failures;
  }
  EXPECT_GE(failures, 2);
}

TEST(PoolTest, EndsWhereTheRunIsCancelled) {
  CancellationManager cancellation;
  cancellation.StartCancel();
  const PoolCase c{"", {1, 9, 9, 3}, {1, 2, 2, 1}, {1, 2, 2, 1}};
  KernelRunner runner = c.Runner("MaxPool");
  runner.run().cancellation = &cancellation;
  EXPECT_EQ(runner.Run1({NumberTensor(DType::kFloat, c.image, Scrambled(243, 99))}).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace sluice
