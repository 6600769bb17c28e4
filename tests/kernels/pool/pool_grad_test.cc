// First and second gradients of pooling against plain references.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/kernels/pool/number_tensors.h"
#include "tests/kernels/pool/plain_windows.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

double At(const Doubles& values, int64_t place) { return values[static_cast<size_t>(place)]; }

// What one op needs: an image, the maxima of its windows, and numbers for both.
struct GradientCase {
  explicit GradientCase(const PoolCase& pool_case)
      : c(pool_case),
        windows(WindowsOf(c)),
        image(Scrambled(CountOf(c.image), 23)),
        on_image(Scrambled(CountOf(c.image), 13, 6)),
        on_output(Scrambled(CountOf(windows.output), 11, 5)) {
    for (const Sizes& places : windows.elements) {
      int64_t first = places[0];
      for (const int64_t place : places) first = At(image, place) > At(image, first) ? place : first;
      firsts.push_back(first);
      maxima.push_back(At(image, first));
    }
  }

  Tensor Image(DType type, const Doubles& values) const { return NumberTensor(type, c.image, values); }
  Tensor Output(DType type, const Doubles& values) const { return NumberTensor(type, windows.output, values); }

  const PoolCase c;
  const PlainWindows windows;
  const Doubles image, on_image, on_output;
  Sizes firsts;  // Where the first of the largest elements of each window is.
  Doubles maxima;
};

std::vector<PoolCase> CasesWithExplicit() {
  std::vector<PoolCase> cases = PoolCases();
  cases.push_back(ExplicitCase());
  return cases;
}

std::vector<DType> TypesFor(const PoolCase& c) {
  if (c.is_volume()) return {DType::kFloat, DType::kHalf, DType::kBFloat16};
  return {DType::kFloat, DType::kDouble, DType::kHalf, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64};
}

// Of volumes all elements that are the maximum have the gradient, as in TensorFlow.
Doubles ExpectedGradient(const GradientCase& g) {
  Doubles gradient(g.image.size(), 0.0);
  for (size_t i = 0; i < g.firsts.size(); ++i) {
    if (!g.c.is_volume()) {
      gradient[static_cast<size_t>(g.firsts[i])] += g.on_output[i];
      continue;
    }
    for (const int64_t place : g.windows.elements[i]) {
      if (At(g.image, place) == g.maxima[i]) gradient[static_cast<size_t>(place)] += g.on_output[i];
    }
  }
  return gradient;
}

TEST(PoolGradTest, OfMaxima) {
  for (const PoolCase& c : CasesWithExplicit()) {
    const GradientCase g(c);
    for (const DType type : TypesFor(c)) {
      SCOPED_TRACE(c.name + " " + std::string(DTypeName(type)));
      ASSERT_OK_AND_ASSIGN(const Tensor dx,
                           c.Runner(c.op("MaxPool", "Grad"))
                               .Run1({g.Image(type, g.image), g.Output(type, g.maxima), g.Output(type, g.on_output)}));
      EXPECT_EQ(NumbersOf(dx), ExpectedGradient(g));
    }
  }
}

TEST(PoolGradTest, OfMaximaWithWindowsThatAreInputs) {
  const GradientCase g({"", {2, 5, 4, 3}, {1, 3, 2, 1}, {1, 1, 2, 1}, "SAME"});
  const std::vector<Tensor> lists = {NumberTensor(DType::kInt32, {4}, {1, 3, 2, 1}),
                                     NumberTensor(DType::kInt32, {4}, {1, 1, 2, 1})};
  KernelRunner first("MaxPoolGradV2");
  first.Attr("padding", "SAME");
  ASSERT_OK_AND_ASSIGN(const Tensor dx, first.Run1({g.Image(DType::kFloat, g.image), g.Output(DType::kFloat, g.maxima),
                                                    g.Output(DType::kFloat, g.on_output), lists[0], lists[1]}));
  EXPECT_EQ(NumbersOf(dx), ExpectedGradient(g));
  KernelRunner second("MaxPoolGradGradV2");
  second.Attr("padding", "SAME");
  ASSERT_OK_AND_ASSIGN(const Tensor ddy,
                       second.Run1({g.Image(DType::kFloat, g.image), g.Output(DType::kFloat, g.maxima),
                                    g.Image(DType::kFloat, g.on_image), lists[0], lists[1]}));
  for (size_t i = 0; i < g.firsts.size(); ++i) EXPECT_EQ(NumbersOf(ddy)[i], At(g.on_image, g.firsts[i]));
}

TEST(PoolGradTest, SecondOfMaxima) {
  for (const PoolCase& c : PoolCases()) {
    const GradientCase g(c);
    Doubles expected;
    for (const int64_t first : g.firsts) expected.push_back(At(g.on_image, first));
    for (const DType type : TypesFor(c)) {
      SCOPED_TRACE(c.name + " " + std::string(DTypeName(type)));
      ASSERT_OK_AND_ASSIGN(const Tensor ddy,
                           c.Runner(c.op("MaxPool", "GradGrad"))
                               .Run1({g.Image(type, g.image), g.Output(type, g.maxima), g.Image(type, g.on_image)}));
      EXPECT_EQ(NumbersOf(ddy), expected);
    }
  }
}

TEST(PoolGradTest, SecondIsZeroWhereNothingIsTheMaximum) {
  const PoolCase c{"", {1, 2, 2, 1}, {1, 2, 2, 1}, {1, 1, 1, 1}};
  const Tensor image = NumberTensor(DType::kFloat, c.image, {1, 2, 3, 4});
  const Tensor other = NumberTensor(DType::kFloat, {1, 1, 1, 1}, {9});
  EXPECT_EQ(NumbersOf(c.Runner("MaxPoolGradGrad").Run1({image, other, image}).value()), Doubles{0});
}

TEST(PoolGradTest, OfMeans) {
  for (const PoolCase& c : PoolCases()) {
    const PlainWindows windows = WindowsOf(c);
    const Doubles dy = Scrambled(CountOf(windows.output), 11, 5);
    Doubles expected(static_cast<size_t>(CountOf(c.image)), 0.0);
    for (size_t i = 0; i < dy.size(); ++i) {
      for (const int64_t place : windows.elements[i]) {
        expected[static_cast<size_t>(place)] += dy[i] / static_cast<double>(windows.elements[i].size());
      }
    }
    const Tensor sizes =
        NumberTensor(DType::kInt32, {static_cast<int64_t>(c.image.size())}, Doubles(c.image.begin(), c.image.end()));
    for (const DType type : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16}) {
      SCOPED_TRACE(c.name + " " + std::string(DTypeName(type)));
      ASSERT_OK_AND_ASSIGN(const Tensor dx,
                           c.Runner(c.op("AvgPool", "Grad")).Run1({sizes, NumberTensor(type, windows.output, dy)}));
      EXPECT_EQ(dx.shape(), *Shape::Make(c.image));
      const Doubles found = NumbersOf(dx);
      const double tolerance = type == DType::kBFloat16 ? 0.1 : type == DType::kHalf ? 0.01 : 1e-5;
      for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
    }
  }
}

TEST(PoolGradTest, PlacesOfMaxima) {
  for (const PoolCase& c : PoolCases()) {
    if (c.is_volume() || CountOf(c.image) == 0) continue;
    const GradientCase g(c);
    for (const bool counts_batch : {false, true}) {
      for (const DType type : {DType::kFloat, DType::kDouble, DType::kBFloat16, DType::kInt8, DType::kInt64}) {
        for (const DType place_type : {DType::kInt32, DType::kInt64}) {
          SCOPED_TRACE(c.name + " " + std::string(DTypeName(type)));
          const auto runner = [&](const char* op) {
            KernelRunner made = c.Runner(op);
            made.Attr("include_batch_in_index", counts_batch).Attr("Targmax", place_type);
            return made;
          };
          const Tensor image = g.Image(type, g.image);
          ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found, runner("MaxPoolWithArgmax").Run({image}));
          EXPECT_EQ(NumbersOf(found[0]), g.maxima);
          Doubles places(g.firsts.begin(), g.firsts.end());
          const double size = static_cast<double>(CountOf(c.image) / c.image[0]);
          for (double& place : places) place = counts_batch ? place : std::fmod(place, size);
          EXPECT_EQ(NumbersOf(found[1]), places);
          ASSERT_OK_AND_ASSIGN(const Tensor dx,
                               runner("MaxPoolGradWithArgmax").Run1({image, g.Output(type, g.on_output), found[1]}));
          EXPECT_EQ(NumbersOf(dx), ExpectedGradient(g));
          ASSERT_OK_AND_ASSIGN(const Tensor ddy,
                               runner("MaxPoolGradGradWithArgmax").Run1({image, g.Image(type, g.on_image), found[1]}));
          for (size_t i = 0; i < g.firsts.size(); ++i) EXPECT_EQ(NumbersOf(ddy)[i], At(g.on_image, g.firsts[i]));
        }
      }
    }
  }
}

// As TensorFlow 2.19.1: a NaN that comes first stays, and so does minus infinity.
TEST(PoolGradTest, ANaNThatComesFirstIsTheMaximum) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const PoolCase c{"", {1, 1, 4, 1}, {1, 1, 2, 1}, {1, 1, 2, 1}};
  const Tensor image = NumberTensor(DType::kFloat, c.image, {nan, 1, 2, nan});
  const Tensor output = NumberTensor(DType::kFloat, {1, 1, 2, 1}, {0, 0});
  const Tensor dy = NumberTensor(DType::kFloat, {1, 1, 2, 1}, {5, 7});
  EXPECT_EQ(NumbersOf(c.Runner("MaxPoolGrad").Run1({image, output, dy}).value()), (Doubles{5, 0, 7, 0}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found, c.Runner("MaxPoolWithArgmax").Run({image}));
  EXPECT_TRUE(std::isnan(found[0].flat<float>()[0]));
  EXPECT_EQ(NumbersOf(found[1]), (Doubles{0, 2}));
}

// As TensorFlow 2.19.1: closer than 1e-5, whatever the maximum is.
TEST(PoolGradTest, OfVolumesWhatIsCloseToTheMaximumCounts) {
  const PoolCase c{"", {1, 1, 1, 4, 1}, {1, 1, 1, 4, 1}, {1, 1, 1, 1, 1}};
  const auto gradient = [&](const Doubles& volume, double maximum) {
    const Tensor output = NumberTensor(DType::kFloat, {1, 1, 1, 1, 1}, {maximum});
    const Tensor dy = NumberTensor(DType::kFloat, {1, 1, 1, 1, 1}, {3});
    return NumbersOf(
        c.Runner("MaxPool3DGrad").Run1({NumberTensor(DType::kFloat, c.image, volume), output, dy}).value());
  };
  EXPECT_EQ(gradient({0, 9e-6, -9e-6, 2e-5}, 0), (Doubles{3, 3, 3, 0}));
  EXPECT_EQ(gradient({INFINITY, 1, -INFINITY, 2}, INFINITY), Doubles(4, 0.0));
}

TEST(PoolGradTest, SumsOfIntegersWrapAround) {
  const PoolCase c{"", {1, 1, 3, 1}, {1, 1, 2, 1}, {1, 1, 1, 1}};
  const Tensor image = NumberTensor(DType::kInt32, c.image, {0, 9, 0});
  const Tensor output = NumberTensor(DType::kInt32, {1, 1, 2, 1}, {9, 9});
  const Tensor dy = NumberTensor(DType::kInt32, {1, 1, 2, 1}, {2147483647, 1});
  EXPECT_EQ(NumbersOf(c.Runner("MaxPoolGrad").Run1({image, output, dy}).value()), (Doubles{0, -2147483648.0, 0}));
}

TEST(PoolGradTest, ThreadsAndMovedInputsChangeNoBit) {
  const GradientCase g({"", {2, 21, 20, 150}, {1, 3, 3, 1}, {1, 2, 1, 1}, "SAME"});
  Doubles dy = g.on_output;
  for (size_t i = 0; i < dy.size(); ++i) dy[i] = 0.0013 * static_cast<double>(i % 1013);
  for (const DType type : {DType::kFloat, DType::kHalf}) {
    const std::vector<Tensor> inputs = {g.Image(type, g.image), g.Output(type, g.maxima), g.Output(type, dy)};
    ExpectSameBitsInAllWays([&] { return g.c.Runner("MaxPoolGrad"); }, inputs);
    ExpectSameBitsInAllWays([&] { return g.c.Runner("AvgPoolGrad"); },
                            {NumberTensor(DType::kInt32, {4}, {2, 21, 20, 150}), inputs[2]});
    ExpectSameBitsInAllWays([&] { return g.c.Runner("MaxPoolWithArgmax"); }, {inputs[0]});
    ExpectSameBitsInAllWays([&] { return g.c.Runner("MaxPoolGradGrad"); }, {inputs[0], inputs[1], inputs[0]});
  }
}

TEST(PoolGradTest, RefusesShapesThatDoNotBelongTogether) {
  const PoolCase c{"", {1, 4, 4, 1}, {1, 2, 2, 1}, {1, 2, 2, 1}};
  const auto zeros = [](const Sizes& sizes) { return NumberTensor(DType::kFloat, sizes, Doubles(1000, 0.0)); };
  const Tensor image = zeros({1, 4, 4, 1});
  const Tensor output = zeros({1, 2, 2, 1});
  for (const Sizes& wrong :
       std::vector<Sizes>{{1, 2, 1, 1}, {2, 2, 2, 1}, {1, 2, 2, 2}, {1, 1, 4, 1}, {4}, {0, 2, 2, 1}}) {
    EXPECT_THAT(c.Runner("MaxPoolGrad").Run1({image, zeros(wrong), output}).status(), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(c.Runner("MaxPoolGrad").Run1({image, output, zeros(wrong)}).status(), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(c.Runner("MaxPoolGradGrad").Run1({image, zeros(wrong), image}).status(), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(c.Runner("MaxPoolGradGrad").Run1({image, output, zeros(wrong)}).status(), IsError(ErrorCode::kOpShape));
    const Tensor places = NumberTensor(DType::kInt64, wrong, Doubles(1000, 0.0));
    EXPECT_THAT(c.Runner("MaxPoolGradWithArgmax").Run1({image, output, places}).status(), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(c.Runner("AvgPoolGrad").Run1({NumberTensor(DType::kInt32, {4}, {1, 4, 4, 1}), zeros(wrong)}).status(),
                IsError(ErrorCode::kOpShape));
  }
  EXPECT_THAT(c.Runner("MaxPoolGrad").Run1({zeros({4, 4, 1}), output, output}).status(), IsError(ErrorCode::kOpShape));
  EXPECT_EQ(c.Runner("MaxPoolWithArgmax").Run({zeros({0, 4, 4, 1})}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PoolGradTest, RefusesSizesThatNoImageHas) {
  const PoolCase c{"", {1, 4, 4, 1}, {1, 2, 2, 1}, {1, 2, 2, 1}};
  const Tensor dy = NumberTensor(DType::kFloat, {1, 2, 2, 1}, {1, 2, 3, 4});
  for (const Doubles& sizes : std::vector<Doubles>{{4, 4, 1},
                                                   {1, -4, 4, 1},
                                                   {-536870912, -536870912, -536870912, -536870912},
                                                   {536870912, 536870912, 536870912, 536870912},
                                                   {1, 1, 4, 1},
                                                   {}}) {
    const Tensor list = NumberTensor(DType::kInt32, {static_cast<int64_t>(sizes.size())}, sizes);
    EXPECT_EQ(c.Runner("AvgPoolGrad").Run1({list, dy}).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(PoolGradTest, RefusesPlacesOutsideOfTheImage) {
  const PoolCase c{"", {2, 2, 2, 1}, {1, 2, 2, 1}, {1, 2, 2, 1}};
  const Tensor image = NumberTensor(DType::kFloat, c.image, Doubles(8, 1.0));
  const Tensor dy = NumberTensor(DType::kFloat, {2, 1, 1, 1}, {1, 2});
  const auto status = [&](const char* op, const Tensor& gradient, const Doubles& places, bool counts_batch) {
    KernelRunner runner = c.Runner(op);
    runner.Attr("include_batch_in_index", counts_batch);
    return runner.Run1({image, gradient, NumberTensor(DType::kInt64, {2, 1, 1, 1}, places)}).status();
  };
  for (const auto& [op, gradient] : std::vector<std::pair<const char*, Tensor>>{{"MaxPoolGradWithArgmax", dy},
                                                                                {"MaxPoolGradGradWithArgmax", image}}) {
    EXPECT_OK(status(op, gradient, {0, 3}, false));
    EXPECT_OK(status(op, gradient, {0, 7}, true));
    EXPECT_THAT(status(op, gradient, {0, 4}, false), IsError(ErrorCode::kOpValue));
    EXPECT_THAT(status(op, gradient, {-1, 0}, false), IsError(ErrorCode::kOpValue));
    EXPECT_THAT(status(op, gradient, {0, 3}, true), IsError(ErrorCode::kOpValue));
    EXPECT_THAT(status(op, gradient, {4, 4}, true), IsError(ErrorCode::kOpValue));
    EXPECT_THAT(status(op, gradient, {0, -9e18}, true), IsError(ErrorCode::kOpValue));
  }
}

TEST(PoolGradTest, AnyMissingMemoryIsAnError) {
  const GradientCase g({"", {1, 9, 9, 30}, {1, 2, 2, 1}, {1, 2, 2, 1}});
  int failures = 0;
  for (int64_t limit = 64;; limit = limit * 3 / 2) {
    TrackingAllocator memory(HostAllocator(), limit);
    KernelRunner runner = g.c.Runner("MaxPoolGrad");
    runner.run().allocator = &memory;
    const absl::StatusOr<Tensor> dx = runner.Run1(
        {g.Image(DType::kHalf, g.image), g.Output(DType::kHalf, g.maxima), g.Output(DType::kHalf, g.on_output)});
    if (dx.ok()) break;
    ASSERT_EQ(dx.status().code(), absl::StatusCode::kResourceExhausted) << dx.status();
    ++failures;
  }
  EXPECT_GE(failures, 2);
}

}  // namespace
}  // namespace sluice
