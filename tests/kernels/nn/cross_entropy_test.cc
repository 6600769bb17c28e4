// Both cross entropies against plain references.

#include <algorithm>
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

const std::vector<DType>& FloatTypes() {
  static const std::vector<DType>& types =
      *new std::vector<DType>{DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16};
  return types;
}
double ToleranceOf(DType type) {
  return type == DType::kDouble ? 1e-12 : type == DType::kFloat ? 2e-6 : type == DType::kHalf ? 2e-3 : 2e-2;
}

Doubles Small(int64_t count, int64_t modulus, double shift) {
  Doubles values = Scrambled(count, modulus, shift);
  for (double& value : values) value *= 0.125;
  return values;
}

// The element of a matrix of `rows` by `columns` that a tensor of `sizes` broadcasts to.
double Broadcast(const Sizes& sizes, const Doubles& values, int64_t row, int64_t column) {
  const int64_t own_columns = sizes.empty() ? 1 : sizes.back();
  const int64_t own_rows = sizes.size() < 2 ? 1 : sizes[0];
  return values[static_cast<size_t>((own_rows == 1 ? 0 : row) * own_columns + (own_columns == 1 ? 0 : column))];
}

Doubles LogSoftmaxOf(const Doubles& row) {
  const double maximum = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const double x : row) sum += std::exp(x - maximum);
  Doubles result;
  for (const double x : row) result.push_back(x - maximum - std::log(sum));
  return result;
}

void ExpectNear(const Tensor& found, const Doubles& expected, double tolerance) {
  const Doubles numbers = NumbersOf(found);
  ASSERT_EQ(numbers.size(), expected.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_NEAR(numbers[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
  }
}

struct DenseCase {
  Sizes logits, labels;
  int64_t rows, columns;
};

const DenseCase kDense[] = {
    {{1, 1}, {1, 1}, 1, 1}, {{3, 7}, {3, 7}, 3, 7}, {{5, 100}, {5, 100}, 5, 100}, {{1, 9}, {4, 9}, 4, 9},
    {{4, 9}, {1, 9}, 4, 9}, {{4, 1}, {4, 9}, 4, 9}, {{4, 9}, {4, 1}, 4, 9},       {{3, 1}, {1, 5}, 3, 5},
    {{9}, {4, 9}, 4, 9},    {{4, 9}, {9}, 4, 9},    {{}, {2, 3}, 2, 3},           {{2, 3}, {}, 2, 3},
    {{0, 4}, {0, 4}, 0, 4}, {{0, 4}, {1, 4}, 0, 4}, {{2, 0}, {2, 0}, 2, 0},       {{2, 1000}, {2, 1000}, 2, 1000},
};

TEST(CrossEntropyTest, WithProbabilities) {
  for (const DenseCase& c : kDense) {
    for (const DType type : FloatTypes()) {
      SCOPED_TRACE(Shape::Make(c.logits)->ToString() + Shape::Make(c.labels)->ToString() +
                   std::string(DTypeName(type)));
      const Tensor logits = NumberTensor(type, c.logits, Small(CountOf(c.logits), 97, 40));
      const Tensor labels = NumberTensor(type, c.labels, Small(CountOf(c.labels), 5, 0));
      Doubles loss(static_cast<size_t>(c.rows), 0.0), gradient;
      for (int64_t i = 0; i < c.rows && c.columns > 0; ++i) {
        Doubles row;
        for (int64_t k = 0; k < c.columns; ++k) row.push_back(Broadcast(c.logits, NumbersOf(logits), i, k));
        const Doubles logs = LogSoftmaxOf(row);
        for (int64_t k = 0; k < c.columns; ++k) {
          const double label = Broadcast(c.labels, NumbersOf(labels), i, k);
          loss[static_cast<size_t>(i)] -= label * logs[static_cast<size_t>(k)];
          gradient.push_back(std::exp(logs[static_cast<size_t>(k)]) - label);
        }
      }
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found,
                           KernelRunner("SoftmaxCrossEntropyWithLogits").Run({logits, labels}));
      EXPECT_EQ(found[0].shape(), Shape::Of({c.rows}));
      EXPECT_EQ(found[1].shape(), Shape::Of({c.rows, c.columns}));
      ExpectNear(found[0], loss, ToleranceOf(type));
      ExpectNear(found[1], gradient, ToleranceOf(type));
    }
  }
}

TEST(CrossEntropyTest, WithClasses) {
  for (const Sizes& sizes : std::vector<Sizes>{{1, 1}, {3, 7}, {5, 100}, {0, 4}, {40, 33}, {2, 1000}}) {
    for (const DType type : FloatTypes()) {
      for (const DType label_type : {DType::kInt32, DType::kInt64}) {
        const Tensor logits = NumberTensor(type, sizes, Small(CountOf(sizes), 97, 40));
        const Doubles labels = Scrambled(sizes[0], sizes[1]), x = NumbersOf(logits);
        Doubles loss, gradient;
        for (size_t i = 0; i < labels.size(); ++i) {
          const auto begin = x.begin() + static_cast<int64_t>(i) * sizes[1];
          const Doubles logs = LogSoftmaxOf(Doubles(begin, begin + sizes[1]));
          loss.push_back(-logs[static_cast<size_t>(labels[i])]);
          for (size_t k = 0; k < logs.size(); ++k) {
            gradient.push_back(std::exp(logs[k]) - (static_cast<double>(k) == labels[i] ? 1 : 0));
          }
        }
        ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found,
                             KernelRunner("SparseSoftmaxCrossEntropyWithLogits")
                                 .Run({logits, NumberTensor(label_type, {sizes[0]}, labels)}));
        ExpectNear(found[0], loss, ToleranceOf(type));
        ExpectNear(found[1], gradient, ToleranceOf(type));
      }
    }
  }
}

// As TensorFlow 2.19.1.
TEST(CrossEntropyTest, ExtremeLogits) {
  const double inf = INFINITY;
  const Tensor logits = NumberTensor(DType::kFloat, {3, 3}, {10000, -10000, 0, -inf, 0, 0, inf, 1, 2});
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> found,
      KernelRunner("SparseSoftmaxCrossEntropyWithLogits").Run({logits, NumberTensor(DType::kInt32, {3}, {0, 0, 0})}));
  EXPECT_EQ(found[0].flat<float>()[0], 0);
  EXPECT_EQ(found[0].flat<float>()[1], inf);
  EXPECT_TRUE(std::isnan(found[0].flat<float>()[2]));
  ExpectNear(found[1].SliceRows(0, 2), {0, 0, 0, -1, 0.5, 0.5}, 1e-6);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> dense, KernelRunner("SoftmaxCrossEntropyWithLogits")
                                                            .Run({NumberTensor(DType::kFloat, {1, 3}, {-inf, 0, 1}),
                                                                  NumberTensor(DType::kFloat, {1, 3}, {0, 1, 0})}));
  EXPECT_TRUE(std::isnan(dense[0].flat<float>()[0])) << "0 times infinity";
}

TEST(CrossEntropyTest, ThreadsAndMovedInputsChangeNoBit) {
  // No probability is denormal: threads of a pool take those for zero, that of this test does not.
  for (const DType type : FloatTypes()) {
    const Tensor logits = NumberTensor(type, {300, 150}, Small(45000, 601, 300));
    ExpectSameBitsInAllWays([] { return KernelRunner("SoftmaxCrossEntropyWithLogits"); }, {logits, logits});
    ExpectSameBitsInAllWays([] { return KernelRunner("SparseSoftmaxCrossEntropyWithLogits"); },
                            {logits, NumberTensor(DType::kInt32, {300}, Scrambled(300, 150))});
  }
}

TEST(CrossEntropyTest, RefusesShapesThatDoNotBelongTogether) {
  const auto zeros = [](const Sizes& sizes) {
    return NumberTensor(DType::kFloat, sizes, Doubles(static_cast<size_t>(CountOf(sizes)), 0.0));
  };
  for (const auto& [logits, labels] : std::vector<std::pair<Sizes, Sizes>>{
           {{2, 3}, {2, 4}}, {{2, 3}, {3, 3}}, {{3}, {3}}, {{}, {}}, {{1, 2, 3}, {2, 3}}, {{2, 3}, {2, 2, 3}}}) {
    EXPECT_THAT(KernelRunner("SoftmaxCrossEntropyWithLogits").Run({zeros(logits), zeros(labels)}).status(),
                IsError(ErrorCode::kOpShapes));
  }
  const auto sparse = [&](const Sizes& logits, const Sizes& labels) {
    const Tensor classes = NumberTensor(DType::kInt64, labels, Doubles(static_cast<size_t>(CountOf(labels)), 0.0));
    return KernelRunner("SparseSoftmaxCrossEntropyWithLogits").Run({zeros(logits), classes}).status();
  };
  EXPECT_OK(sparse({2, 3}, {2}));
  for (const auto& [logits, labels] : std::vector<std::pair<Sizes, Sizes>>{
           {{3}, {1}}, {{1, 2, 3}, {1}}, {{2, 3}, {3}}, {{2, 3}, {2, 1}}, {{2, 3}, {}}, {{2, 0}, {2}}, {{0, 0}, {0}}}) {
    EXPECT_THAT(sparse(logits, labels), IsError(ErrorCode::kOpShape));
  }
}

TEST(CrossEntropyTest, RefusesClassesThatAreNone) {
  for (const double label : {-1.0, 3.0, 2147483647.0, -2147483648.0}) {
    const absl::Status status =
        KernelRunner("SparseSoftmaxCrossEntropyWithLogits")
            .Run({NumberTensor(DType::kFloat, {2, 3}, Doubles(6, 0.0)), NumberTensor(DType::kInt32, {2}, {0, label})})
            .status();
    EXPECT_THAT(status, IsError(ErrorCode::kOpValue));
  }
}

TEST(CrossEntropyTest, AnyMissingMemoryIsAnError) {
  const Tensor logits = NumberTensor(DType::kHalf, {4, 100}, Small(400, 97, 40));
  int failures = 0;
  for (int64_t limit = 64;; limit = limit * 3 / 2) {
    TrackingAllocator memory(HostAllocator(), limit);
    KernelRunner runner("SoftmaxCrossEntropyWithLogits");
    runner.run().allocator = &memory;
    const absl::StatusOr<std::vector<Tensor>> found = runner.Run({logits, logits});
    if (found.ok()) break;
    ASSERT_EQ(found.status().code(), absl::StatusCode::kResourceExhausted) << found.status();
    ++failures;
  }
  EXPECT_GE(failures, 2);
}

}  // namespace
}  // namespace sluice
