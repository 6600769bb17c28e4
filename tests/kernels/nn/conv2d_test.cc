#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/cancellation.h"
#include "graph/value/float16.h"
#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

// -modulus/2, ... again and again: sums of products are exact in every dtype used here.
template <typename T>
Tensor Iota(const Ints& dims, int modulus) {
  const absl::StatusOr<Shape> shape = Shape::Make(dims);
  std::vector<T> values(static_cast<size_t>(shape->num_elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    const int value = static_cast<int>(i) % modulus - modulus / 2;
    if constexpr (std::is_class_v<T>) {
      values[i] = T(static_cast<float>(value));
    } else {
      values[i] = static_cast<T>(value);
    }
  }
  return Tensor::Of<T>(*shape, values);
}

// The attrs of a convolution.
struct Form {
  Ints strides = {1, 1, 1, 1};
  Ints dilations = {1, 1, 1, 1};
  std::string padding = "VALID";
  Ints paddings = {};
};

KernelRunner Runner(const std::string& op, const Form& form) {
  KernelRunner runner(op);
  runner.Attr("strides", AttrValue(form.strides)).Attr("dilations", AttrValue(form.dilations));
  runner.Attr("padding", form.padding).Attr("explicit_paddings", AttrValue(form.paddings));
  return runner;
}

// One convolution and its result.
struct GoldenCase {
  std::string name;
  Ints image, filter, strides, dilations;
  std::string padding;
  Ints paddings, shape;
  std::vector<double> values;
};

// What TensorFlow 2.19 answers for Iota(image, 7) and Iota(filter, 5).
const GoldenCase kGoldens[] = {
    {"same, stride 2",
     {1, 5, 6, 2},
     {3, 3, 2, 2},
     {1, 2, 2, 1},
     {1, 1, 1, 1},
     "SAME",
     {},
     {1, 3, 3, 2},
     {-3, -7, -9, 3, 8, -7, 1, 9, 8, 1, -16, -9, -6, 10, 0, 10, -1, 0}},
    {"same, even window",
     {1, 3, 4, 1},
     {2, 2, 1, 2},
     {1, 1, 1, 1},
     {1, 1, 1, 1},
     "SAME",
     {},
     {1, 3, 4, 2},
     {6, -1, 5, -3, 11, -5, -6, 6, -5, 5, -6, 3, -7, -6, 8, 1, 4, 1, 2, 1, 0, 1, -2, -1}},
    {"valid, dilated",
     {1, 6, 7, 1},
     {2, 3, 1, 2},
     {1, 1, 2, 1},
     {1, 2, 2, 1},
     "VALID",
     {},
     {1, 4, 2, 2},
     {8, -3, 4, -5, 8, -3, 4, -5, 8, -3, 4, -5, 8, -3, 4, -5}},
    {"explicit",
     {2, 2, 3, 1},
     {2, 2, 1, 1},
     {1, 1, 1, 1},
     {1, 1, 1, 1},
     "EXPLICIT",
     {0, 0, 1, 0, 2, 1, 0, 0},
     {2, 2, 5, 1},
     {0, -3, -2, -1, 0, 0, 3, 9, 7, 2, 0, 3, -3, -2, 0, 0, -4, -3, 9, 4}},
    {"groups",
     {1, 3, 3, 4},
     {2, 2, 2, 4},
     {1, 1, 1, 1},
     {1, 1, 1, 1},
     "VALID",
     {},
     {1, 2, 2, 4},
     {-7, 10, -20, -8, 4, -22, 10, 6, -9, -9, 7, -1, 16, 8, 2, 6}},
    {"pointwise",
     {1, 2, 3, 3},
     {1, 1, 3, 2},
     {1, 1, 1, 1},
     {1, 1, 1, 1},
     "SAME",
     {},
     {1, 2, 3, 2},
     {4, 3, 4, -3, -10, -2, 4, -1, -10, 7, 4, 1}},
    {"pointwise, strides",
     {1, 3, 5, 2},
     {1, 1, 2, 2},
     {1, 2, 3, 1},
     {1, 1, 1, 1},
     "VALID",
     {},
     {1, 2, 2, 2},
     {6, 1, -6, -6, -6, -6, -4, 1}},
};

template <typename T>
void ExpectGoldens() {
  for (const GoldenCase& golden : kGoldens) {
    KernelRunner runner = Runner("Conv2D", {golden.strides, golden.dilations, golden.padding, golden.paddings});
    ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1({Iota<T>(golden.image, 7), Iota<T>(golden.filter, 5)}));
    EXPECT_EQ(y.shape(), *Shape::Make(golden.shape)) << golden.name;
    std::vector<double> values;
    for (const T value : y.flat<T>()) {
      if constexpr (std::is_class_v<T>) {
        values.push_back(static_cast<double>(static_cast<float>(value)));
      } else {
        values.push_back(static_cast<double>(value));
      }
    }
    EXPECT_EQ(values, golden.values) << golden.name;
  }
}

TEST(Conv2DTest, GivesWhatTensorFlowGives) {
  ExpectGoldens<float>();
  ExpectGoldens<double>();
  ExpectGoldens<Half>();
  ExpectGoldens<BFloat16>();
  ExpectGoldens<int32_t>();
}

std::vector<float> Values(const absl::StatusOr<Tensor>& tensor) {
  EXPECT_OK(tensor);
  if (!tensor.ok()) return {};
  const absl::Span<const float> flat = tensor->flat<float>();
  return {flat.begin(), flat.end()};
}

// Not exact: fractions, so that another order of additions would show.
Tensor Fractions(const Ints& dims) {
  Tensor tensor = Iota<float>(dims, 1013);
  for (float& value : tensor.flat<float>()) value *= 0.0013f;
  return tensor;
}

// Channels [first, first + count), where axis `axis` is that of the channels.
Tensor Channels(const Tensor& from, int axis, int64_t first, int64_t count) {
  Ints dims(from.shape().dims().begin(), from.shape().dims().end());
  dims[static_cast<size_t>(axis)] = count;
  Tensor part = Iota<float>(dims, 2);
  int64_t inner = 1;
  for (int i = axis + 1; i < from.rank(); ++i) inner *= from.dim(i);
  float* to = part.flat<float>().data();
  for (int64_t i = 0; i < from.num_elements(); ++i) {
    const int64_t channel = i / inner % from.dim(axis) - first;
    if (channel >= 0 && channel < count) *to++ = from.flat<float>()[static_cast<size_t>(i)];
  }
  return part;
}

// Also of sizes that are copied in a way of their own.
TEST(Conv2DTest, EachGroupIsAConvolutionOfItsChannels) {
  for (const int64_t size : {1, 2, 3, 4, 5, 8, 16, 17}) {
    const Form form = {{1, 2, 1, 1}, {1, 1, 1, 1}, "SAME", {}};
    const Tensor image = Iota<float>({2, 5, 6, 3 * size}, 7), filter = Iota<float>({3, 2, size, 6}, 5);
    ASSERT_OK_AND_ASSIGN(const Tensor all, Runner("Conv2D", form).Run1({image, filter}));
    for (int64_t group = 0; group < 3; ++group) {
      const Tensor own_image = Channels(image, 3, group * size, size), own_filter = Channels(filter, 3, group * 2, 2);
      const std::vector<float> own = Values(Runner("Conv2D", form).Run1({own_image, own_filter}));
      EXPECT_EQ(Values(Channels(all, 3, group * 2, 2)), own) << size << " channels, group " << group;
    }
  }
}

TEST(Conv2DTest, ThreadsChangeNoBit) {
  const Form form = {{1, 2, 1, 1}, {1, 1, 1, 1}, "SAME", {}};
  const Tensor image = Fractions({3, 31, 40, 16});
  const Tensor filter = Fractions({3, 5, 16, 40});
  const std::vector<float> alone = Values(Runner("Conv2D", form).Run1({image, filter}));
  for (const int num_threads : {1, 2, 8}) {
    ThreadPoolOptions options;
    options.num_threads = num_threads;
    ThreadPool pool(options);
    KernelRunner runner = Runner("Conv2D", form);
    runner.run().task_runner = &pool;
    EXPECT_EQ(Values(runner.Run1({image, filter})), alone);
  }
}

TEST(Conv2DTest, NoPixelsAreAResult) {
  EXPECT_EQ(Runner("Conv2D", {}).Run1({Iota<float>({0, 3, 3, 1}, 7), Iota<float>({2, 2, 1, 4}, 5)})->shape(),
            Shape::Of({0, 2, 2, 4}));
}

// As TensorFlow 2.19.1's session, but for floats where oneDNN is on, which then gives [1, 2, 2, 1] with unwritten
// elements.
TEST(Conv2DTest, AWindowThatIsSomewhatTooLargeGivesNoPixels) {
  const auto shape = [](const auto& zero, const Ints& image, const Ints& filter, int64_t stride) {
    using T = std::decay_t<decltype(zero)>;
    absl::StatusOr<Tensor> made =
        Runner("Conv2D", {{1, stride, stride, 1}}).Run1({Iota<T>(image, 7), Iota<T>(filter, 5)});
    EXPECT_OK(made);
    return made.ok() ? made->shape() : Shape();
  };
  EXPECT_EQ(shape(0.0f, {1, 2, 2, 1}, {3, 3, 1, 1}, 2), Shape::Of({1, 0, 0, 1}));
  EXPECT_EQ(shape(0.0, {1, 2, 2, 1}, {3, 3, 1, 1}, 1), Shape::Of({1, 0, 0, 1}));
  EXPECT_EQ(shape(int32_t{0}, {1, 2, 3, 1}, {3, 3, 1, 1}, 2), Shape::Of({1, 0, 1, 1}));
  EXPECT_EQ(shape(0.0f, {1, 3, 3, 1}, {5, 5, 1, 1}, 4), Shape::Of({1, 0, 0, 1}));
}

// So does TensorFlow 2.19.1's session: where the image has no elements, the filter is not looked at.
TEST(Conv2DTest, WindowsInThePaddingOfAnEmptyImageAreZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Form form = {{1, 1, 1, 1}, {1, 1, 1, 1}, "EXPLICIT", {0, 0, 2, 2, 2, 2, 0, 0}};
  const Tensor filter = Tensor::Of<float>(Shape::Of({3, 3, 1, 1}), std::vector<float>(9, nan));
  ASSERT_OK_AND_ASSIGN(const Tensor none, Runner("Conv2D", form).Run1({Iota<float>({1, 0, 4, 1}, 7), filter}));
  EXPECT_EQ(none.shape(), Shape::Of({1, 2, 6, 1}));
  for (const float value : none.flat<float>()) EXPECT_EQ(value, 0.0f);
  ASSERT_OK_AND_ASSIGN(const Tensor some, Runner("Conv2D", form).Run1({Iota<float>({1, 1, 1, 1}, 7), filter}));
  for (const float value : some.flat<float>()) EXPECT_TRUE(std::isnan(value));
  ASSERT_OK_AND_ASSIGN(const Tensor ints,
                       Runner("Conv2D", form).Run1({Iota<int32_t>({1, 0, 0, 1}, 7), Iota<int32_t>({3, 3, 1, 2}, 5)}));
  EXPECT_EQ(ints.shape(), Shape::Of({1, 2, 2, 2}));
  for (const int32_t value : ints.flat<int32_t>()) EXPECT_EQ(value, 0);
}

TEST(Conv2DTest, RefusesWhatIsNoConvolution) {
  const auto code = [](const Ints& image, const Ints& filter, const Form& form = {}) {
    return Runner("Conv2D", form).Run1({Iota<float>(image, 7), Iota<float>(filter, 5)}).status().code();
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code({3, 3, 1}, {2, 2, 1, 1}), kInvalid);
  EXPECT_EQ(code({1, 3, 3, 1}, {2, 2, 1}), kInvalid);
  EXPECT_EQ(code({1, 3, 3, 4}, {2, 2, 3, 1}), kInvalid) << "channels";
  EXPECT_EQ(code({1, 3, 3, 4}, {2, 2, 2, 3}), kInvalid) << "groups";
  EXPECT_EQ(code({1, 3, 3, 1}, {0, 2, 1, 1}), kInvalid) << "an empty filter";
  EXPECT_EQ(code({1, 3, 3, 1}, {9, 9, 1, 1}), kInvalid) << "the window does not fit";
  EXPECT_EQ(code({1, 3, 3, 1}, {2, 2, 1, 1}, {{1, 1, 1}}), kInvalid);
  EXPECT_EQ(code({1, 3, 3, 1}, {2, 2, 1, 1}, {{1, 0, 1, 1}}), kInvalid);
  EXPECT_EQ(code({1, 3, 3, 1}, {2, 2, 1, 1}, {{1, 1, 1, 1}, {1, 1, 1, 1}, "EXPLICIT", {0, 0, 1}}), kInvalid);
  EXPECT_EQ(code({1, 3, 3, 1}, {2, 2, 1, 1}, {{2, 1, 1, 1}}), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code({1, 3, 3, 1}, {2, 2, 1, 1}, {{0, 1, 1, 1}}), absl::StatusCode::kUnimplemented);
  constexpr int64_t kBeyondInt32 = int64_t{1} << 31;
  EXPECT_EQ(code({1, 3, 3, 1}, {2, 2, 1, 1}, {{1, kBeyondInt32, 1, 1}}), kInvalid);
  EXPECT_EQ(code({1, 3, 3, 1}, {2, 2, 1, 1}, {{kBeyondInt32, 1, 1, 1}}), kInvalid);
  EXPECT_EQ(code({1, 3, 3, 1}, {2, 2, 1, 1}, {{1, kBeyondInt32 - 1, 1, 1}}), absl::StatusCode::kOk);
  EXPECT_EQ(code({1, 3, 3, 1}, {2, 2, 1, 0}), absl::StatusCode::kOk) << "no channels made";
  EXPECT_EQ(code({0, 3, 3, 4}, {2, 2, 2, 3}), absl::StatusCode::kOk) << "no images, whatever the groups";
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(code({1, 3, 3, 1}, {2, 2, 1, 1}, {{1, 1, 1, 1}, {1, huge, 1, 1}}), kInvalid);
  EXPECT_EQ(code({1, 3, 3, 1}, {2, 2, 1, 1}, {{1, 1, 1, 1}, {1, 1, 1, 1}, "EXPLICIT", {0, 0, huge, 9, 0, 0, 0, 0}}),
            kInvalid);
}

// Not its strides, which are in another order.
TEST(Conv2DTest, AnotherDataFormatIsNamedAsWhatIsMissing) {
  KernelRunner runner = Runner("Conv2D", {{1, 1, 2, 2}});
  runner.Attr("data_format", std::string("NCHW"));
  const absl::Status status = runner.Run1({Iota<float>({1, 1, 5, 5}, 7), Iota<float>({2, 2, 1, 1}, 5)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(status.message(), "data_format")) << status;
  EXPECT_FALSE(absl::StrContains(status.message(), "strides")) << status;
}

TEST(Conv2DTest, AnyMissingMemoryIsAnError) {
  const Tensor image = Fractions({1, 9, 9, 3});
  const Tensor filter = Fractions({3, 3, 3, 4});
  int failures = 0;
  for (int64_t limit = 64;; limit = limit * 3 / 2) {
    TrackingAllocator memory(HostAllocator(), limit);
    KernelRunner runner = Runner("Conv2D", {});
    runner.run().allocator = &memory;
    const absl::StatusOr<Tensor> y = runner.Run1({image, filter});
    if (y.ok()) break;
    ASSERT_EQ(y.status().code(), absl::StatusCode::kResourceExhausted) << y.status();
    ++failures;
  }
  EXPECT_GE(failures, 3);
}

TEST(Conv2DTest, EndsWhereTheRunIsCancelled) {
  CancellationManager cancellation;
  cancellation.StartCancel();
  KernelRunner runner = Runner("Conv2D", {});
  runner.run().cancellation = &cancellation;
  EXPECT_EQ(runner.Run1({Fractions({1, 9, 9, 3}), Fractions({3, 3, 3, 4})}).status().code(),
            absl::StatusCode::kCancelled);
}

std::vector<float> RunFused(const Tensor& image, const Tensor& filter, const Tensor& bias, std::vector<std::string> ops,
                            const Form& form = {}) {
  KernelRunner runner = Runner("_FusedConv2D", form);
  runner.Attr("fused_ops", AttrValue(std::move(ops))).Attr("num_args", int64_t{1});
  runner.Attr("num_host_args", int64_t{0});
  runner.Attr("TArgs", AttrValue(std::vector<DType>{DType::kFloat}));
  return Values(runner.Run1({image, filter, bias}));
}

// The epilogue gives the bits of a BiasAdd and an activation after it, over several blocks and groups.
TEST(FusedConv2DTest, TheEpilogueIsTheSameAsTheOpsOneByOne) {
  const Tensor image = Fractions({2, 20, 30, 8});
  const Tensor filter = Fractions({3, 3, 4, 34});
  const Tensor bias = Fractions({34});
  for (const std::string activation : {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor sums, Runner("Conv2D", {}).Run1({image, filter}));
    ASSERT_OK_AND_ASSIGN(const Tensor biased, KernelRunner("BiasAdd").Run1({sums, bias}));
    EXPECT_EQ(RunFused(image, filter, bias, {"BiasAdd"}), Values(biased));
    EXPECT_EQ(RunFused(image, filter, bias, {"BiasAdd", activation}), Values(KernelRunner(activation).Run1({biased})))
        << activation;
  }
}

TEST(FusedConv2DTest, WindowsInThePaddingOfAnEmptyImageAreTheBias) {
  const Form form = {{1, 1, 1, 1}, {1, 1, 1, 1}, "EXPLICIT", {0, 0, 2, 2, 2, 2, 0, 0}};
  const Tensor bias = Tensor::Of<float>(Shape::Of({2}), {-3, 4});
  EXPECT_EQ(RunFused(Iota<float>({1, 0, 0, 1}, 7), Iota<float>({3, 3, 1, 2}, 5), bias, {"BiasAdd", "Relu"}, form),
            (std::vector<float>{0, 4, 0, 4, 0, 4, 0, 4}));
}

}  // namespace
}  // namespace sluice
