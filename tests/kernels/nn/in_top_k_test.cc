// InTopK and InTopKV2. Expectations are TensorFlow 2.19.1's.

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/kernels/pool/number_tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

std::vector<bool> InTop(const Sizes& sizes, const Doubles& predictions, const Doubles& targets, int64_t k) {
  const Tensor matrix = NumberTensor(DType::kFloat, sizes, predictions);
  std::vector<std::vector<bool>> found;
  for (const DType type : {DType::kInt32, DType::kInt64}) {
    const Tensor vector = NumberTensor(type, {static_cast<int64_t>(targets.size())}, targets);
    KernelRunner first("InTopK");
    first.Attr("k", k);
    for (const absl::StatusOr<Tensor>& y :
         {first.Run1({matrix, vector}),
          KernelRunner("InTopKV2").Run1({matrix, vector, NumberTensor(type, {}, {static_cast<double>(k)})})}) {
      EXPECT_OK(y);
      const absl::Span<const bool> flat = y->flat<bool>();
      found.emplace_back(flat.begin(), flat.end());
    }
  }
  for (const std::vector<bool>& other : found) EXPECT_EQ(other, found[0]);
  return found[0];
}

TEST(InTopKTest, CountsLargerPredictions) {
  const Doubles predictions = {0.1, 0.3, 0.2, 0.4, 0.1, 0.2, 0.3, 0.4, 0.3, 0.4, 0.4, 0.2};
  const Doubles targets = {3, 2, 1};
  EXPECT_EQ(InTop({3, 4}, predictions, targets, 1), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(InTop({3, 4}, predictions, targets, 2), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(InTop({3, 4}, predictions, targets, 0), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(InTop({3, 4}, predictions, targets, -1), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(InTop({1, 3}, {1, 1, 1}, {2}, 1), (std::vector<bool>{true})) << "ties";
  EXPECT_EQ(InTop({0, 3}, {}, {}, 1), std::vector<bool>());
  EXPECT_EQ(InTop({2, 0}, {}, {0, 0}, 1), (std::vector<bool>{false, false}));
}

TEST(InTopKTest, WhatIsNotFiniteOrNotThereIsInNoTop) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(InTop({2, 2}, {1, 2, 1, 2}, {2, -1}, 2), (std::vector<bool>{false, false}));
  EXPECT_EQ(InTop({4, 3}, {1, nan, 2, INFINITY, 1, 2, 1, 2, -INFINITY, 3, 1, 2}, {0, 1, 0, 0}, 3),
            (std::vector<bool>{false, false, false, true}));
}

TEST(InTopKTest, OverManyRowsAndThreads) {
  const Tensor predictions = NumberTensor(DType::kFloat, {500, 90}, Scrambled(45000, 1013));
  const Tensor targets = NumberTensor(DType::kInt32, {500}, Scrambled(500, 90));
  ExpectSameBitsInAllWays([] { return KernelRunner("InTopKV2"); },
                          {predictions, targets, NumberTensor(DType::kInt32, {}, {20})});
}

TEST(InTopKTest, RefusesShapesThatDoNotBelongTogether) {
  const auto status = [](const Sizes& predictions, const Sizes& targets, const Sizes& k) {
    return KernelRunner("InTopKV2")
        .Run1({NumberTensor(DType::kFloat, predictions, Doubles(12, 0.0)),
               NumberTensor(DType::kInt32, targets, Doubles(12, 0.0)),
               NumberTensor(DType::kInt32, k, Doubles(12, 0.0))})
        .status();
  };
  EXPECT_OK(status({2, 3}, {2}, {}));
  EXPECT_THAT(status({6}, {6}, {}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(status({1, 2, 3}, {1}, {}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(status({2, 3}, {3}, {}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(status({2, 3}, {2, 1}, {}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(status({2, 3}, {2}, {1}), IsError(ErrorCode::kOpShape));
}

}  // namespace
}  // namespace sluice
