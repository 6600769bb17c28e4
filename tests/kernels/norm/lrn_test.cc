// LRN and its gradient against plain references.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/kernels/pool/number_tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

struct LrnCase {
  Sizes image;
  int64_t radius = 5;
  double bias = 1, alpha = 1, beta = 0.5;

  KernelRunner Runner(const char* op) const {
    KernelRunner runner(op);
    runner.Attr("depth_radius", radius).Attr("bias", static_cast<float>(bias));
    runner.Attr("alpha", static_cast<float>(alpha)).Attr("beta", static_cast<float>(beta));
    return runner;
  }
  // Calls `visit(i, k)` for places `k` among the neighbours of place `i`.
  template <typename Visit>
  void ForNeighbours(int64_t i, const Visit& visit) const {
    const int64_t channels = image.back(), first = i / channels * channels;
    for (int64_t k = first; k < first + channels; ++k) {
      if (std::abs(k - i) <= radius) visit(static_cast<size_t>(k));
    }
  }
  Doubles Norms(const Doubles& x) const {
    Doubles norms(x.size(), bias);
    for (size_t i = 0; i < x.size(); ++i) {
      ForNeighbours(static_cast<int64_t>(i), [&](size_t k) { norms[i] += alpha * x[k] * x[k]; });
    }
    return norms;
  }
};

const std::vector<LrnCase>& LrnCases() {
  static const std::vector<LrnCase>& cases = *new std::vector<LrnCase>{
      {{1, 2, 3, 7}},
      {{2, 3, 2, 64}, 5, 1, 1e-4, 0.75},
      {{1, 4, 4, 10}, 2, 2, 0.3, 0.75},
      {{1, 2, 2, 5}, 0, 1, 1, 1},
      {{1, 3, 3, 9}, 3, 0.5, 0.2, 0.3},
      {{1, 1, 2, 33}, 40, 1, 0.1, 2},
      {{1, 2, 2, 1}, 5},
      {{1, 1, 1, 300}, 2147483646, 1, 0.01, 0.5},
      {{0, 2, 2, 3}},
      {{2, 2, 2, 0}},
  };
  return cases;
}

Doubles Small(int64_t count, int64_t modulus, double shift) {
  Doubles values = Scrambled(count, modulus, shift);
  for (double& value : values) value *= 0.125;
  return values;
}

void ExpectNear(const Tensor& found, const Doubles& expected, double tolerance) {
  const Doubles numbers = NumbersOf(found);
  ASSERT_EQ(numbers.size(), expected.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_NEAR(numbers[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
  }
}

double ToleranceOf(DType type) { return type == DType::kFloat ? 1e-5 : type == DType::kHalf ? 3e-3 : 3e-2; }

TEST(LrnTest, AgainstTheDefinition) {
  for (const LrnCase& c : LrnCases()) {
    for (const DType type : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
      const Tensor tensor = NumberTensor(type, c.image, Small(CountOf(c.image), 31, 15));
      const Doubles x = NumbersOf(tensor), norms = c.Norms(x);
      Doubles y = x;
      for (size_t i = 0; i < y.size(); ++i) y[i] *= std::pow(norms[i], -c.beta);
      ASSERT_OK_AND_ASSIGN(const Tensor found, c.Runner("LRN").Run1({tensor}));
      EXPECT_EQ(found.shape(), tensor.shape());
      ExpectNear(found, y, ToleranceOf(type));
    }
  }
}

TEST(LrnTest, GradientAgainstTheDefinition) {
  for (const LrnCase& c : LrnCases()) {
    for (const DType type : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
      const int64_t count = CountOf(c.image);
      const std::vector<Tensor> inputs = {NumberTensor(type, c.image, Small(count, 13, 6)),
                                          NumberTensor(type, c.image, Small(count, 31, 15)),
                                          NumberTensor(type, c.image, Small(count, 11, 5))};
      const Doubles dy = NumbersOf(inputs[0]), x = NumbersOf(inputs[1]), y = NumbersOf(inputs[2]), norms = c.Norms(x);
      Doubles dx(x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        double sum = 0;
        c.ForNeighbours(static_cast<int64_t>(i), [&](size_t k) { sum += dy[k] * y[k] / norms[k]; });
        dx[i] = dy[i] * std::pow(norms[i], -c.beta) - 2 * c.alpha * c.beta * x[i] * sum;
      }
      ASSERT_OK_AND_ASSIGN(const Tensor found, c.Runner("LRNGrad").Run1(inputs));
      ExpectNear(found, dx, 2 * ToleranceOf(type));
    }
  }
}

TEST(LrnTest, AnInfinityStaysAmongItsNeighbours) {
  const LrnCase c{{1, 1, 1, 9}, 2};
  Doubles image(9, 1.0);
  image[4] = std::numeric_limits<double>::quiet_NaN();
  ASSERT_OK_AND_ASSIGN(const Tensor found, c.Runner("LRN").Run1({NumberTensor(DType::kFloat, c.image, image)}));
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(std::isnan(found.flat<float>()[i]), i >= 2 && i <= 6) << i;
}

// With a bias of zero the norm of zeros is zero: what has no gradient gets none, rather than a NaN.
TEST(LrnTest, NoGradientIsNoGradientWhateverTheNorm) {
  const LrnCase c{{1, 1, 2, 3}, 1, /*bias=*/0};
  const auto floats = [&c](const Doubles& values) { return NumberTensor(DType::kFloat, c.image, values); };
  const Tensor dy = floats({0, 0, 0, 0, 0, 2}), x = floats({0, 0, 0, 1, 0, 2}), y = floats({5, 5, 5, 1, 5, 2});
  ASSERT_OK_AND_ASSIGN(const Tensor dx, c.Runner("LRNGrad").Run1({dy, x, y}));
  const Doubles found = NumbersOf(dx);
  EXPECT_EQ(Doubles(found.begin(), found.begin() + 4), Doubles(4, 0.0));
  for (const double value : found) EXPECT_TRUE(std::isfinite(value)) << value;
}

TEST(LrnTest, ThreadsAndMovedInputsChangeNoBit) {
  const LrnCase c{{2, 30, 30, 40}, 3, 1, 0.1, 0.3};
  for (const DType type : {DType::kFloat, DType::kHalf}) {
    const Tensor x = NumberTensor(type, c.image, Small(CountOf(c.image), 101, 50));
    ExpectSameBitsInAllWays([&] { return c.Runner("LRN"); }, {x});
    ExpectSameBitsInAllWays([&] { return c.Runner("LRNGrad"); }, {x, x, x});
  }
}

TEST(LrnTest, RefusesWhatTensorFlowRefuses) {
  const Tensor image = NumberTensor(DType::kFloat, {1, 2, 2, 1}, {1, 2, 3, 4});
  const Tensor flat = NumberTensor(DType::kFloat, {2, 2, 1}, {1, 2, 3, 4});
  const Tensor other = NumberTensor(DType::kFloat, {1, 2, 1, 2}, {1, 2, 3, 4});
  EXPECT_THAT(KernelRunner("LRN").Run1({flat}).status(), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(KernelRunner("LRNGrad").Run1({flat, flat, flat}).status(), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(KernelRunner("LRNGrad").Run1({image, other, image}).status(), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(KernelRunner("LRNGrad").Run1({image, image, other}).status(), IsError(ErrorCode::kOpShape));
  for (const int64_t radius : {int64_t{-1}, int64_t{2147483647}, int64_t{1} << 40}) {
    LrnCase c{{1, 2, 2, 1}, radius};
    EXPECT_EQ(c.Runner("LRN").Run1({image}).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace sluice
