// FusedBatchNorm in all versions, and its gradients, against plain references.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/kernels/pool/number_tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr double kEpsilon = 0.001;

// Images with channels last, or second.
struct NormCase {
  Sizes image;
  std::string format = "NHWC";

  bool channels_second() const { return format[1] == 'C'; }
  int64_t channels() const { return channels_second() ? image[1] : image.back(); }
  // Elements of one channel that follow each other.
  int64_t run() const {
    int64_t run = 1;
    for (size_t i = 2; channels_second() && i < image.size(); ++i) run *= image[i];
    return run;
  }
  size_t ChannelOf(size_t place) const { return place / static_cast<size_t>(run()) % static_cast<size_t>(channels()); }
  double count() const { return static_cast<double>(CountOf(image) / channels()); }
  std::string Name() const { return format + Shape::Make(image)->ToString(); }
};

// Channels beside and within vectors, several blocks, odd ends.
const std::vector<NormCase>& NormCases() {
  static const std::vector<NormCase>& cases = *new std::vector<NormCase>{{{2, 3, 3, 2}},
                                                                         {{1, 1, 1, 3}},
                                                                         {{3, 5, 7, 1}},
                                                                         {{2, 4, 3, 40}},
                                                                         {{4, 40, 30, 33}},
                                                                         {{5, 60, 70, 3}},
                                                                         {{1, 3, 2, 300}},
                                                                         {{2, 3, 4, 2, 5}, "NDHWC"},
                                                                         {{2, 3, 4, 5}, "NCHW"},
                                                                         {{3, 2, 60, 70}, "NCHW"},
                                                                         {{1, 1, 1, 1}, "NCHW"},
                                                                         {{2, 3, 2, 4, 5}, "NCDHW"},
                                                                         {{1, 2, 300, 250}, "NCHW"}};
  return cases;
}

Doubles ImageOf(const NormCase& c) {
  Doubles values = Scrambled(CountOf(c.image), 127, 40);
  for (double& value : values) value *= 0.125;
  return values;
}
Doubles PerChannel(int64_t channels, double first, double step) {
  Doubles values;
  for (int64_t i = 0; i < channels; ++i) values.push_back(first + step * static_cast<double>(i % 7));
  return values;
}
Tensor Vector(const Doubles& values) {
  return NumberTensor(DType::kFloat, {static_cast<int64_t>(values.size())}, values);
}

struct Moments {
  Doubles mean, variance;
};
Moments MomentsOf(const NormCase& c, const Doubles& image) {
  const size_t channels = static_cast<size_t>(c.channels());
  Moments moments{Doubles(channels, 0.0), Doubles(channels, 0.0)};
  for (size_t i = 0; i < image.size(); ++i) moments.mean[c.ChannelOf(i)] += image[i] / c.count();
  for (size_t i = 0; i < image.size(); ++i) {
    moments.variance[c.ChannelOf(i)] += std::pow(image[i] - moments.mean[c.ChannelOf(i)], 2) / c.count();
  }
  return moments;
}

KernelRunner Runner(const std::string& op, const NormCase& c, bool is_training) {
  KernelRunner runner(op);
  runner.Attr("epsilon", static_cast<float>(kEpsilon)).Attr("data_format", c.format).Attr("is_training", is_training);
  return runner;
}

void ExpectNear(const Tensor& found, const Doubles& expected, double tolerance) {
  const Doubles numbers = NumbersOf(found);
  ASSERT_EQ(numbers.size(), expected.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_NEAR(numbers[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
  }
}

double ToleranceOf(DType type) { return type == DType::kFloat ? 2e-5 : type == DType::kHalf ? 2e-3 : 2e-2; }

// The versions for `c` and `type`.
std::vector<std::string> OpsFor(const NormCase& c, DType type, const std::string& stem) {
  if (c.image.size() == 5) return {stem + "V3"};
  if (type != DType::kFloat) return {stem + "V2", stem + "V3"};
  return {stem, stem + "V2", stem + "V3"};
}

TEST(BatchNormTest, InTraining) {
  for (const NormCase& c : NormCases()) {
    const Doubles scale = PerChannel(c.channels(), 0.5, 0.25), offset = PerChannel(c.channels(), -1, 0.5);
    for (const DType type : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
      const Tensor x = NumberTensor(type, c.image, ImageOf(c));
      const Doubles image = NumbersOf(x);  // As rounded.
      const Moments moments = MomentsOf(c, image);
      Doubles y(image.size()), sampled = moments.variance;
      for (size_t i = 0; i < y.size(); ++i) {
        const size_t k = c.ChannelOf(i);
        y[i] = (image[i] - moments.mean[k]) / std::sqrt(moments.variance[k] + kEpsilon) * scale[k] + offset[k];
      }
      for (double& value : sampled) value *= c.count() / std::max(1.0, c.count() - 1);
      for (const std::string& op : OpsFor(c, type, "FusedBatchNorm")) {
        SCOPED_TRACE(op + " " + c.Name() + " " + std::string(DTypeName(type)));
        ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found,
                             Runner(op, c, true).Run({x, Vector(scale), Vector(offset), Vector({}), Vector({})}));
        EXPECT_EQ(found[0].dtype(), type);
        ExpectNear(found[0], y, ToleranceOf(type));
        ExpectNear(found[1], moments.mean, 1e-5);
        ExpectNear(found[2], sampled, 1e-5);
        ExpectNear(found[3], moments.mean, 1e-5);
        ExpectNear(found[4], moments.variance, 1e-5);
        EXPECT_EQ(found.size(), op.back() == '3' ? 6 : 5);
        EXPECT_EQ(found.back().rank(), op.back() == '3' ? 0 : 1);
      }
    }
  }
}

TEST(BatchNormTest, ByGivenStatistics) {
  for (const NormCase& c : NormCases()) {
    const Doubles scale = PerChannel(c.channels(), 0.5, 0.25), offset = PerChannel(c.channels(), -1, 0.5);
    const Doubles mean = PerChannel(c.channels(), -2, 1), variance = PerChannel(c.channels(), 0.25, 0.5);
    for (const DType type : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
      SCOPED_TRACE(c.Name() + " " + std::string(DTypeName(type)));
      const Tensor x = NumberTensor(type, c.image, ImageOf(c));
      Doubles y = NumbersOf(x);
      for (size_t i = 0; i < y.size(); ++i) {
        const size_t k = c.ChannelOf(i);
        y[i] = (y[i] - mean[k]) / std::sqrt(variance[k] + kEpsilon) * scale[k] + offset[k];
      }
      ASSERT_OK_AND_ASSIGN(
          const std::vector<Tensor> found,
          Runner("FusedBatchNormV3", c, false).Run({x, Vector(scale), Vector(offset), Vector(mean), Vector(variance)}));
      ExpectNear(found[0], y, ToleranceOf(type));
      for (const size_t i : {1, 3}) EXPECT_EQ(NumbersOf(found[i]), mean);
      for (const size_t i : {2, 4}) EXPECT_EQ(NumbersOf(found[i]), variance);
    }
  }
}

TEST(BatchNormTest, AveragesOverBatches) {
  const NormCase c{{2, 3, 3, 2}};
  const Moments moments = MomentsOf(c, ImageOf(c));
  KernelRunner runner = Runner("FusedBatchNormV3", c, true);
  runner.Attr("exponential_avg_factor", 0.25f);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found,
                       runner.Run({NumberTensor(DType::kFloat, c.image, ImageOf(c)), Vector({1, 2}), Vector({0, 0}),
                                   Vector({1, 2}), Vector({3, 4})}));
  const double to_sampled = c.count() / (c.count() - 1);
  ExpectNear(found[1], {0.75 + 0.25 * moments.mean[0], 1.5 + 0.25 * moments.mean[1]}, 1e-6);
  ExpectNear(found[2], {2.25 + 0.25 * to_sampled * moments.variance[0], 3 + 0.25 * to_sampled * moments.variance[1]},
             1e-6);
  ExpectNear(found[3], moments.mean, 1e-6);
}

// Sums of squares would have lost it all.
TEST(BatchNormTest, SmallVarianceAroundALargeMean) {
  const NormCase c{{2, 50, 50, 3}};
  Doubles image;
  for (int64_t i = 0; i < CountOf(c.image); ++i) image.push_back(10000 + 0.0625 * static_cast<double>(i / 3 % 2));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found,
                       Runner("FusedBatchNormV3", c, true)
                           .Run({NumberTensor(DType::kFloat, c.image, image), Vector({1, 1, 1}), Vector({0, 0, 0}),
                                 Vector({}), Vector({})}));
  ExpectNear(found[4], Doubles(3, 0.03125 * 0.03125), 1e-6);
}

// As TensorFlow 2.19.1.
TEST(BatchNormTest, AnInfinityIsTheMeanOfItsChannel) {
  const NormCase c{{1, 2, 2, 2}};
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found,
                       Runner("FusedBatchNormV3", c, true)
                           .Run({NumberTensor(DType::kFloat, c.image, {1, 2, -INFINITY, 3, 4, 5, 6, 6}), Vector({1, 1}),
                                 Vector({0, 0}), Vector({}), Vector({})}));
  EXPECT_EQ(NumbersOf(found[1]), (Doubles{-INFINITY, 4}));
  EXPECT_TRUE(std::isnan(found[2].flat<float>()[0]));
  EXPECT_FALSE(std::isnan(found[2].flat<float>()[1]));
}

TEST(BatchNormTest, SideInputAndActivation) {
  for (const NormCase& c : {NormCase{{2, 3, 3, 2}}, NormCase{{2, 3, 4, 5}, "NCHW"}}) {
    const std::vector<Tensor> inputs = {NumberTensor(DType::kFloat, c.image, ImageOf(c)),
                                        Vector(PerChannel(c.channels(), 0.5, 0.25)),
                                        Vector(PerChannel(c.channels(), -1, 0.5)), Vector({}), Vector({})};
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> plain, Runner("FusedBatchNormV3", c, true).Run(inputs));
    for (const bool is_relu : {false, true}) {
      for (const int64_t sides : {0, 1}) {
        std::vector<Tensor> given = inputs;
        if (sides == 1) given.push_back(NumberTensor(DType::kFloat, c.image, Scrambled(CountOf(c.image), 5, 2)));
        KernelRunner runner = Runner("_FusedBatchNormEx", c, true);
        runner.Attr("num_side_inputs", sides).Attr("activation_mode", is_relu ? "Relu" : "Identity");
        ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found, runner.Run(given));
        Doubles expected = NumbersOf(plain[0]);
        for (size_t i = 0; i < expected.size(); ++i) {
          if (sides == 1) expected[i] += NumbersOf(given[5])[i];
          if (is_relu) expected[i] = std::max(expected[i], 0.0);
        }
        ExpectNear(found[0], expected, 1e-6);
      }
    }
  }
}

TEST(BatchNormTest, Gradients) {
  for (const NormCase& c : NormCases()) {
    const size_t channels = static_cast<size_t>(c.channels());
    const Doubles scale = PerChannel(c.channels(), 0.5, 0.25);
    for (const bool is_training : {true, false}) {
      for (const DType type : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
        const Tensor x = NumberTensor(type, c.image, ImageOf(c));
        const Tensor dy = NumberTensor(type, c.image, Scrambled(CountOf(c.image), 17, 8));
        const Doubles image = NumbersOf(x), gradient = NumbersOf(dy);
        const Moments moments = MomentsOf(c, image);
        Doubles offset_gradient(channels, 0.0), products(channels, 0.0), dx(image.size());
        for (size_t i = 0; i < image.size(); ++i) {
          offset_gradient[c.ChannelOf(i)] += gradient[i];
          products[c.ChannelOf(i)] += gradient[i] * (image[i] - moments.mean[c.ChannelOf(i)]);
        }
        Doubles scale_gradient = products;
        for (size_t k = 0; k < channels; ++k) scale_gradient[k] /= std::sqrt(moments.variance[k] + kEpsilon);
        for (size_t i = 0; i < image.size(); ++i) {
          const size_t k = c.ChannelOf(i);
          const double spread = moments.variance[k] + kEpsilon;
          const double own = is_training ? offset_gradient[k] / c.count() +
                                               (image[i] - moments.mean[k]) * products[k] / c.count() / spread
                                         : 0;
          dx[i] = (gradient[i] - own) * scale[k] / std::sqrt(spread);
        }
        for (const std::string& op : OpsFor(c, type, "FusedBatchNormGrad")) {
          SCOPED_TRACE(op + " " + c.Name() + " " + std::string(DTypeName(type)));
          std::vector<Tensor> inputs = {dy, x, Vector(scale), Vector(moments.mean), Vector(moments.variance)};
          if (op.back() == '3') inputs.push_back(Vector({0}));
          ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found, Runner(op, c, is_training).Run(inputs));
          ExpectNear(found[0], dx, 5 * ToleranceOf(type));
          ExpectNear(found[1], scale_gradient, 1e-3);
          ExpectNear(found[2], offset_gradient, 1e-5);
          EXPECT_EQ(found[3].shape(), Shape::Of({0}));
          EXPECT_EQ(found[4].shape(), Shape::Of({0}));
        }
      }
    }
  }
}

TEST(BatchNormTest, GradientsByGivenStatisticsDoNotLookAtImages) {
  const NormCase c{{1, 1, 2, 1}};
  const std::vector<Tensor> inputs = {NumberTensor(DType::kFloat, c.image, {1, 2}),
                                      NumberTensor(DType::kFloat, c.image, {INFINITY, 0}), Vector({1}), Vector({0}),
                                      Vector({1})};
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found, Runner("FusedBatchNormGradV2", c, false).Run(inputs));
  ExpectNear(found[0], {1 / std::sqrt(1.001), 2 / std::sqrt(1.001)}, 1e-6);
}

// As TensorFlow 2.19.1.
TEST(BatchNormTest, NoBatchHasNoStatistics) {
  for (const bool is_training : {true, false}) {
    const NormCase c{{0, 3, 3, 2}};
    const Tensor none = NumberTensor(DType::kFloat, c.image, {});
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found,
                         Runner("FusedBatchNormV3", c, is_training)
                             .Run({none, Vector({1, 2}), Vector({0, 1}), Vector({1, 2}), Vector({3, 4})}));
    EXPECT_EQ(found[0].shape(), Shape::Of({0, 3, 3, 2}));
    for (const size_t i : {1, 2}) {
      for (const float value : found[i].flat<float>()) EXPECT_TRUE(std::isnan(value));
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> gradients,
                         Runner("FusedBatchNormGradV2", c, is_training)
                             .Run({none, none, Vector({1, 2}), Vector({0, 1}), Vector({1, 2})}));
    EXPECT_EQ(NumbersOf(gradients[1]), Doubles(2, 0.0));
    EXPECT_EQ(NumbersOf(gradients[2]), Doubles(2, 0.0));
  }
  const NormCase no_channels{{2, 3, 3, 0}};
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found, Runner("FusedBatchNormV3", no_channels, true)
                                                            .Run({NumberTensor(DType::kFloat, no_channels.image, {}),
                                                                  Vector({}), Vector({}), Vector({}), Vector({})}));
  EXPECT_EQ(found[0].shape(), Shape::Of({2, 3, 3, 0}));
}

TEST(BatchNormTest, ThreadsAndMovedInputsChangeNoBit) {
  for (const NormCase& c : {NormCase{{4, 40, 30, 33}}, NormCase{{5, 60, 70, 3}}, NormCase{{6, 5, 60, 70}, "NCHW"}}) {
    const Doubles per_channel = PerChannel(c.channels(), 0.3, 0.7);
    for (const DType type : {DType::kFloat, DType::kHalf}) {
      SCOPED_TRACE(c.Name());
      const Tensor x = NumberTensor(type, c.image, ImageOf(c));
      const Tensor dy = NumberTensor(type, c.image, Scrambled(CountOf(c.image), 1013, 500));
      const Tensor vector = Vector(per_channel);
      ExpectSameBitsInAllWays([&] { return Runner("FusedBatchNormV3", c, true); }, {x, vector, vector, vector, vector});
      ExpectSameBitsInAllWays([&] { return Runner("FusedBatchNormV3", c, false); },
                              {x, vector, vector, vector, vector});
      ExpectSameBitsInAllWays([&] { return Runner("FusedBatchNormGradV2", c, true); }, {dy, x, vector, vector, vector});
    }
  }
}

TEST(BatchNormTest, RefusesWhatTensorFlowRefuses) {
  const NormCase c{{1, 3, 3, 2}};
  const Tensor x = NumberTensor(DType::kFloat, c.image, ImageOf(c));
  const Tensor two = Vector({1, 2}), three = Vector({1, 2, 3}), none = Vector({});
  const Tensor matrix = NumberTensor(DType::kFloat, {1, 2}, {1, 2});
  const auto status = [&](std::vector<Tensor> inputs, bool is_training, float factor = 1) {
    KernelRunner runner = Runner("FusedBatchNormV3", c, is_training);
    runner.Attr("exponential_avg_factor", factor);
    return runner.Run(std::move(inputs)).status();
  };
  EXPECT_OK(status({x, two, two, three, none}, true));
  for (const Tensor& wrong : {three, none, matrix, Vector({1})}) {
    EXPECT_THAT(status({x, wrong, two, two, two}, true), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(status({x, two, wrong, two, two}, true), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(status({x, two, two, wrong, two}, false), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(status({x, two, two, two, wrong}, false), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(status({x, two, two, wrong, two}, true, 0.5f), IsError(ErrorCode::kOpShape));
  }
  EXPECT_THAT(status({x, two, two, matrix, two}, true), IsError(ErrorCode::kOpShape));
  const Tensor flat = NumberTensor(DType::kFloat, {3, 3, 2}, ImageOf(c));
  EXPECT_THAT(status({flat, two, two, none, none}, true), IsError(ErrorCode::kOpShape));
  const auto gradient = [&](std::vector<Tensor> inputs) {
    return Runner("FusedBatchNormGradV2", c, true).Run(std::move(inputs)).status();
  };
  EXPECT_OK(gradient({x, x, two, two, two}));
  EXPECT_THAT(gradient({flat, x, two, two, two}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(gradient({x, flat, two, two, two}), IsError(ErrorCode::kOpShape));
  for (const Tensor& wrong : {three, none, matrix}) {
    EXPECT_THAT(gradient({x, x, wrong, two, two}), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(gradient({x, x, two, wrong, two}), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(gradient({x, x, two, two, wrong}), IsError(ErrorCode::kOpShape));
  }
}

TEST(BatchNormTest, AnyMissingMemoryIsAnError) {
  const NormCase c{{1, 9, 9, 30}};
  const Tensor x = NumberTensor(DType::kHalf, c.image, ImageOf(c));
  const Tensor vector = Vector(Doubles(30, 1.0));
  int failures = 0;
  for (int64_t limit = 64;; limit = limit * 3 / 2) {
    TrackingAllocator memory(HostAllocator(), limit);
    KernelRunner runner = Runner("FusedBatchNormV3", c, true);
    runner.run().allocator = &memory;
    const absl::StatusOr<std::vector<Tensor>> found = runner.Run({x, vector, vector, vector, vector});
    if (found.ok()) break;
    ASSERT_EQ(found.status().code(), absl::StatusCode::kResourceExhausted) << found.status();
    ++failures;
  }
  EXPECT_GE(failures, 3);
}

}  // namespace
}  // namespace sluice
