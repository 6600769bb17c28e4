// Fractional pooling: TensorFlow's random cuts, what is made of them, and gradients.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/pool/fractional_sequence.h"
#include "kernels/random/philox.h"
#include "tests/kernels/pool/number_tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

KernelRunner Forward(const std::string& op, const std::vector<float>& ratio, bool overlaps = false) {
  KernelRunner runner(op);
  runner.Attr("pooling_ratio", AttrValue(ratio)).Attr("overlapping", overlaps);
  return runner;
}
KernelRunner Seeded(const std::string& op, const std::vector<float>& ratio, int64_t seed, int64_t seed2,
                    bool is_pseudo_random = false) {
  KernelRunner runner = Forward(op, ratio);
  runner.Attr("deterministic", true).Attr("seed", seed).Attr("seed2", seed2).Attr("pseudo_random", is_pseudo_random);
  return runner;
}
Tensor Zeros(DType type, const Sizes& sizes) {
  return NumberTensor(type, sizes, Doubles(static_cast<size_t>(CountOf(sizes)), 0.0));
}
Tensor Longs(const Sizes& values) { return Tensor::Vector<int64_t>(values); }

struct CutCase {
  int64_t seed;
  bool is_pseudo_random;
  int64_t size;
  float ratio;
  Sizes rows, columns;  // The first eight bounds of images of `size` by `size` + 5.
};

// What TensorFlow 2.19.1 answers for seed2 = seed * seed - 1 and columns with a ratio of 1.7.
const CutCase kCuts[] = {
    {1, false, 33, 1.4f, {0, 1, 3, 5, 6, 7, 9, 10}, {0, 2, 4, 5, 7, 9, 10, 12}},
    {1, true, 33, 1.4f, {0, 2, 3, 5, 6, 7, 9, 10}, {0, 2, 4, 5, 7, 9, 11, 12}},
    {2, false, 40, 1.7f, {0, 2, 4, 6, 7, 9, 11, 13}, {0, 2, 4, 6, 7, 9, 11, 13}},
    {2, true, 40, 1.7f, {0, 2, 3, 5, 7, 9, 10, 12}, {0, 2, 3, 5, 7, 9, 10, 12}},
    {3, false, 7, 2.0f, {0, 2, 4, 7}, {0, 1, 3, 4, 6, 8, 10, 12}},
    {3, true, 7, 2.0f, {0, 3, 5, 7}, {0, 2, 4, 6, 7, 9, 11, 12}},
    {4, false, 20, 2.3f, {0, 2, 5, 8, 11, 14, 16, 18}, {0, 2, 4, 5, 7, 9, 11, 13}},
    {4, true, 20, 2.3f, {0, 3, 6, 8, 11, 13, 16, 18}, {0, 2, 4, 6, 7, 9, 11, 13}},
    {6, false, 40, 1.4f, {0, 2, 4, 6, 8, 10, 11, 12}, {0, 2, 4, 5, 7, 9, 11, 13}},
    {6, true, 40, 1.4f, {0, 2, 4, 5, 6, 8, 9, 11}, {0, 2, 3, 5, 7, 9, 10, 12}},
};

TEST(FractionalPoolTest, CutsAreThoseOfTensorFlow) {
  for (const CutCase& cut : kCuts) {
    KernelRunner runner =
        Seeded("FractionalMaxPool", {1, cut.ratio, 1.7f, 1}, cut.seed, cut.seed * cut.seed - 1, cut.is_pseudo_random);
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found,
                         runner.Run({Zeros(DType::kFloat, {1, cut.size, cut.size + 5, 1})}));
    for (const int axis : {0, 1}) {
      const absl::Span<const int64_t> bounds = found[static_cast<size_t>(axis) + 1].flat<int64_t>();
      const Sizes& wanted = axis == 0 ? cut.rows : cut.columns;
      EXPECT_EQ(Sizes(bounds.begin(), bounds.begin() + wanted.size()), wanted) << cut.seed << " " << axis;
      EXPECT_EQ(bounds.back(), cut.size + 5 * axis);
      EXPECT_EQ(found[0].dim(axis + 1), static_cast<int64_t>(bounds.size()) - 1);
    }
  }
}

TEST(FractionalPoolTest, EveryCutHasWindowsOfTwoSizes) {
  for (const bool is_pseudo_random : {false, true}) {
    for (int64_t length = 1; length < 60; ++length) {
      for (int64_t windows = 1; windows <= length; ++windows) {
        Sizes bounds(static_cast<size_t>(windows) + 1);
        FractionalSequence sequence(Philox(static_cast<uint64_t>(length), 7), is_pseudo_random);
        sequence.Cut(length, absl::MakeSpan(bounds));
        EXPECT_EQ(bounds.front(), 0);
        EXPECT_EQ(bounds.back(), length);
        for (size_t i = 0; i + 1 < bounds.size(); ++i) {
          EXPECT_GE(bounds[i + 1] - bounds[i], length / windows) << length << " " << windows;
          EXPECT_LE(bounds[i + 1] - bounds[i], length / windows + 1) << length << " " << windows;
        }
      }
    }
  }
}

// The element of a window at rows and columns [begin, end) of one image and channel.
template <typename Visit>
void ForWindow(const Sizes& image, const absl::Span<const int64_t> rows, const absl::Span<const int64_t> columns,
               size_t i, size_t k, bool overlaps, const Visit& visit) {
  const int64_t more = overlaps ? 1 : 0;
  for (int64_t row = rows[i]; row < std::min(rows[i + 1] + more, image[1]); ++row) {
    for (int64_t column = columns[k]; column < std::min(columns[k + 1] + more, image[2]); ++column) {
      visit(row * image[2] + column);
    }
  }
}

TEST(FractionalPoolTest, MaximaMeansAndGradients) {
  const Sizes image = {1, 11, 14, 1};
  for (const DType type : {DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64}) {
    for (const bool overlaps : {false, true}) {
      const bool is_whole = type == DType::kInt32 || type == DType::kInt64;
      const Doubles values = Scrambled(CountOf(image), 31, 15);
      const Tensor x = NumberTensor(type, image, values);
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> max,
                           Forward("FractionalMaxPool", {1, 1.6f, 2.3f, 1}, overlaps).Run({x}));
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> mean,
                           Forward("FractionalAvgPool", {1, 1.6f, 2.3f, 1}, overlaps).Run({x}));
      const int64_t width = max[0].dim(2);
      const Tensor dy = NumberTensor(type, {1, 6, 6, 1}, Scrambled(36, 17, 8));
      Doubles to_first(values.size(), 0.0), to_all(values.size(), 0.0);
      for (size_t at = 0; at < 36; ++at) {
        const size_t i = at / static_cast<size_t>(width), k = at % static_cast<size_t>(width);
        double largest = -INFINITY, sum = 0, count = 0;
        int64_t first = -1;
        ForWindow(image, max[1].flat<int64_t>(), max[2].flat<int64_t>(), i, k, overlaps, [&](int64_t place) {
          const double value = values[static_cast<size_t>(place)];
          first = value > largest ? place : first;
          largest = std::max(largest, value);
        });
        EXPECT_EQ(NumbersOf(max[0])[at], largest);
        to_first[static_cast<size_t>(first)] += NumbersOf(dy)[at];
        ForWindow(image, mean[1].flat<int64_t>(), mean[2].flat<int64_t>(), i, k, overlaps, [&](int64_t place) {
          sum += values[static_cast<size_t>(place)];
          count += 1;
        });
        EXPECT_NEAR(NumbersOf(mean[0])[at], is_whole ? std::trunc(sum / count) : sum / count, 1e-5);
        ForWindow(image, mean[1].flat<int64_t>(), mean[2].flat<int64_t>(), i, k, overlaps,
                  [&](int64_t place) { to_all[static_cast<size_t>(place)] += NumbersOf(dy)[at] / count; });
      }
      KernelRunner max_grad("FractionalMaxPoolGrad"), mean_grad("FractionalAvgPoolGrad");
      max_grad.Attr("overlapping", overlaps);
      mean_grad.Attr("overlapping", overlaps);
      ASSERT_OK_AND_ASSIGN(const Tensor max_dx, max_grad.Run1({x, max[0], dy, max[1], max[2]}));
      EXPECT_EQ(NumbersOf(max_dx), to_first);
      ASSERT_OK_AND_ASSIGN(const Tensor mean_dx, mean_grad.Run1({Longs(image), dy, mean[1], mean[2]}));
      for (size_t at = 0; at < to_all.size(); ++at) {
        EXPECT_NEAR(NumbersOf(mean_dx)[at], is_whole ? std::trunc(to_all[at]) : to_all[at], 1e-5) << at;
      }
    }
  }
}

TEST(FractionalPoolTest, WithoutSeedsEachCallHasItsOwn) {
  const KernelRunner runner = Forward("FractionalMaxPool", {1, 1.5f, 1.5f, 1});
  std::vector<std::string> bounds;
  for (int i = 0; i < 4; ++i) bounds.push_back(OutputBytes(runner, {Zeros(DType::kFloat, {1, 200, 200, 1})}, 0)[1]);
  EXPECT_FALSE(bounds[0] == bounds[1] && bounds[1] == bounds[2] && bounds[2] == bounds[3]);
}

TEST(FractionalPoolTest, ThreadsChangeNoBit) {
  const Tensor image = NumberTensor(DType::kFloat, {2, 60, 60, 20}, Scrambled(144000, 1013));
  for (const char* op : {"FractionalMaxPool", "FractionalAvgPool"}) {
    ExpectSameBitsInAllWays([&] { return Seeded(op, {1, 1.7f, 1.3f, 1}, 4, 5); }, {image});
  }
}

TEST(FractionalPoolTest, RefusesWhatTensorFlowRefuses) {
  const auto code = [](const std::vector<float>& ratio, const Sizes& image) {
    return Forward("FractionalMaxPool", ratio).Run({Zeros(DType::kFloat, image)}).status().code();
  };
  const Sizes image = {1, 4, 4, 1};
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code({1, 1, 1, 1}, image), absl::StatusCode::kOk);
  EXPECT_EQ(code({1, 0.5f, 1, 1}, image), invalid);
  EXPECT_EQ(code({1, std::numeric_limits<float>::quiet_NaN(), 1, 1}, image), invalid);
  EXPECT_EQ(code({1, INFINITY, 1, 1}, image), invalid);
  EXPECT_EQ(code({1, 5, 1, 1}, image), invalid);
  EXPECT_EQ(code({1, 1, 1}, image), invalid);
  EXPECT_EQ(code({2, 1, 1, 1}, image), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code({1, 1, 1, 2}, image), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code({1, 1, 1, 1}, {4, 4, 1}), invalid);
  EXPECT_EQ(code({1, 1, 1, 1}, {0, 4, 4, 1}), invalid);
  EXPECT_EQ(code({1, 1, 1, 1}, {1, 4, 4, 0}), invalid);
  KernelRunner seeded = Forward("FractionalMaxPool", {1, 1, 1, 1});
  seeded.Attr("seed", 1);
  EXPECT_EQ(seeded.Run({Zeros(DType::kFloat, image)}).status().code(), invalid);
}

TEST(FractionalPoolTest, GradientsRefuseCutsThatAreNone) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  const Tensor x = Zeros(DType::kFloat, {1, 4, 4, 1});
  const Tensor y = Zeros(DType::kFloat, {1, 2, 2, 1});
  const Sizes good = {0, 2, 4};
  const auto max = [&](const Sizes& rows, const Sizes& columns) {
    return KernelRunner("FractionalMaxPoolGrad").Run1({x, y, y, Longs(rows), Longs(columns)}).status();
  };
  const auto mean = [&](const Sizes& rows, const Sizes& columns) {
    return KernelRunner("FractionalAvgPoolGrad").Run1({Longs({1, 4, 4, 1}), y, Longs(rows), Longs(columns)}).status();
  };
  EXPECT_OK(max(good, good));
  EXPECT_OK(mean(good, good));
  // What is beyond the image is cut off.
  EXPECT_OK(max({0, 2, huge}, good));
  KernelRunner overlapping("FractionalAvgPoolGrad");
  overlapping.Attr("overlapping", true);
  EXPECT_OK(overlapping.Run1({Longs({1, 4, 4, 1}), y, Longs({0, 2, huge}), Longs(good)}).status());
  for (const Sizes& bad : std::vector<Sizes>{
           {}, {0}, {0, 2}, {0, 1, 2, 4}, {-1, 2, 4}, {0, -2, 4}, {0, 3, 2}, {0, 0, 4}, {0, 20, 40}, {0, huge, huge}}) {
    for (const absl::Status& status : {max(bad, good), max(good, bad), mean(bad, good), mean(good, bad)}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.size();
    }
  }
}

TEST(FractionalPoolTest, GradientsRefuseShapesThatDoNotBelongTogether) {
  const Tensor x = Zeros(DType::kFloat, {1, 4, 4, 1});
  const Tensor y = Zeros(DType::kFloat, {1, 2, 2, 1});
  const Tensor cuts = Longs({0, 2, 4});
  for (const Sizes& wrong : std::vector<Sizes>{{1, 2, 1, 1}, {2, 2, 2, 1}, {1, 2, 2, 2}, {4}}) {
    const Tensor other = Zeros(DType::kFloat, wrong);
    EXPECT_FALSE(KernelRunner("FractionalMaxPoolGrad").Run1({x, other, y, cuts, cuts}).ok());
    EXPECT_FALSE(KernelRunner("FractionalMaxPoolGrad").Run1({x, y, other, cuts, cuts}).ok());
    EXPECT_FALSE(KernelRunner("FractionalAvgPoolGrad").Run1({Longs({1, 4, 4, 1}), other, cuts, cuts}).ok());
  }
  for (const Sizes& sizes : std::vector<Sizes>{{4, 4, 1}, {1, -4, 4, 1}, {int64_t{1} << 60, 4, 4, 1}, {}}) {
    EXPECT_FALSE(KernelRunner("FractionalAvgPoolGrad").Run1({Longs(sizes), y, cuts, cuts}).ok());
  }
  const Tensor ones = NumberTensor(DType::kFloat, {1, 2, 2, 1}, {1, 1, 1, 1});
  EXPECT_THAT(KernelRunner("FractionalMaxPoolGrad").Run1({x, ones, y, cuts, cuts}).status(),
              IsError(ErrorCode::kOpValue));
}

}  // namespace
}  // namespace sluice
