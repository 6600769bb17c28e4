// NaN among what is hashed, sorted or selected: TensorFlow's answers, to the element (asked of TensorFlow 2.19.1).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/value/float16.h"
#include "gtest/gtest.h"
#include "kernels/array/tolerant_sort.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <typename T>
T Narrow(double value) {
  if constexpr (std::is_class<T>::value) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
Tensor Floats(const Shape& shape, const std::vector<double>& values) {
  std::vector<T> narrow;
  for (const double value : values) narrow.push_back(Narrow<T>(value));
  return Tensor::Of<T>(shape, narrow);
}
template <typename T>
Tensor Floats(const std::vector<double>& values) {
  return Floats<T>(Shape::Of({static_cast<int64_t>(values.size())}), values);
}

// "nan 1 -0": signs of zeros show.
template <typename T>
std::string Text(const Tensor& tensor) {
  std::string text;
  for (const T value : tensor.flat<T>()) {
    const double wide = static_cast<double>(static_cast<float>(value));
    const std::string digits = std::isnan(wide) ? "nan" : std::to_string(static_cast<int>(std::fabs(wide)));
    text += (text.empty() ? "" : " ") + std::string(!std::isnan(wide) && std::signbit(wide) ? "-" : "") + digits;
  }
  return text;
}

template <typename T>
class NanHashTest : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(NanHashTest, FloatTypes);

// Zeros of both signs are one element of 32 and 64 bits, but two of 16 bits.
template <typename T>
constexpr bool kZerosAreEqual = !std::is_class<T>::value;

TYPED_TEST(NanHashTest, EveryNanIsUnique) {
  using T = TypeParam;
  const Tensor x = Floats<T>({kNan, 1, kNan, -0.0, 0, 1});
  for (const char* op : {"Unique", "UniqueWithCounts"}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner(op).Run({x}));
    EXPECT_EQ(Text<T>(y[0]), kZerosAreEqual<T> ? "nan 1 nan -0" : "nan 1 nan -0 0");
    EXPECT_EQ(Values<int32_t>(y[1]),
              (kZerosAreEqual<T> ? std::vector<int32_t>{0, 1, 2, 3, 3, 1} : std::vector<int32_t>{0, 1, 2, 3, 4, 1}));
    if (y.size() < 3) continue;
    EXPECT_EQ(Values<int32_t>(y[2]),
              (kZerosAreEqual<T> ? std::vector<int32_t>{1, 2, 1, 2} : std::vector<int32_t>{1, 2, 1, 1, 1}));
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("UniqueV2").Run({x, Ints({})}));
  EXPECT_EQ(Text<T>(y[0]), kZerosAreEqual<T> ? "nan 1 nan -0" : "nan 1 nan -0 0");
}

// In rows, zeros of both signs are equal in every type.
TYPED_TEST(NanHashTest, RowsWithNanAreUnique) {
  using T = TypeParam;
  const Tensor x = Floats<T>(Shape::Of({5, 2}), {kNan, 1, kNan, 1, 0, 2, -0.0, 2, 1, 1});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("UniqueV2").Run({x, Ints({0})}));
  EXPECT_EQ(Text<T>(y[0]), "nan 1 nan 1 0 2 1 1");
  EXPECT_THAT(Values<int32_t>(y[1]), ElementsAre(0, 1, 2, 2, 3));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> z, KernelRunner("UniqueWithCountsV2").Run({x, Ints({1})}));
  EXPECT_THAT(Values<int32_t>(z[2]), ElementsAre(1, 1));
}

TYPED_TEST(NanHashTest, NoNanIsInAList) {
  using T = TypeParam;
  const Tensor x = Floats<T>({kNan, 1, kNan, -0.0, 0, 1});
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> y, KernelRunner("ListDiff").Run({x, Floats<T>({kNan, 0})}));
  EXPECT_EQ(Text<T>(y[0]), kZerosAreEqual<T> ? "nan 1 nan 1" : "nan 1 nan -0 1");
  ASSERT_OK_AND_ASSIGN(y, KernelRunner("ListDiff").Run({Floats<T>({-0.0, 0, 3}), Floats<T>({0})}));
  EXPECT_EQ(Values<int32_t>(y[1]), (kZerosAreEqual<T> ? std::vector<int32_t>{2} : std::vector<int32_t>{0, 2}));
}

// 0 to 100 in a jumble, with NaN in a quarter of the places.
std::vector<float> Jumble(int size) {
  std::vector<float> values;
  for (int i = 0; i < size; ++i) {
    const bool is_nan = i % 5 == 2 || i % 11 == 3;
    values.push_back(is_nan ? std::nanf("") : static_cast<float>(i * 7919 % 101));
  }
  return values;
}

uint32_t Hash(const Tensor& indices) {
  uint32_t hash = 2166136261u;
  for (const int32_t index : indices.flat<int32_t>()) hash = (hash ^ static_cast<uint32_t>(index)) * 16777619u;
  return hash;
}

absl::StatusOr<Tensor> TopKIndices(int size, int k, bool sorted = true) {
  SLUICE_ASSIGN_OR_RETURN(
      std::vector<Tensor> y,
      KernelRunner("TopKV2").Attr("sorted", sorted).Run({Tensor::Vector<float>(Jumble(size)), Int(k)}));
  return y[1];
}

TEST(NanOrderTest, TopKOfAllSortsAsTensorFlow) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, TopKIndices(20, 20));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(19, 1, 17, 4, 16, 14, 6, 12, 9, 11, 8, 10, 7, 13, 15, 5, 3, 2, 18, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor z, TopKIndices(20, 19));
  EXPECT_THAT(Values<int32_t>(z), ElementsAre(2, 3, 19, 9, 4, 16, 11, 6, 1, 5, 7, 12, 17, 18, 13, 8, 15, 10, 0));
}

TEST(NanOrderTest, TopKIsTensorFlowsForAnySize) {
  struct Case {
    int size, k;
    uint32_t hash;  // Of the indices that TensorFlow gives.
    bool sorted = true;
  };
  const Case cases[] = {
      {20, 1, 369915874},           {20, 2, 2694891249},
      {20, 10, 3320286217},         {40, 1, 571247302},
      {40, 2, 2109646060},          {40, 20, 2287643254},
      {40, 39, 1702364841},         {40, 40, 731559463},
      {100, 2, 1893190445},         {100, 50, 926731542},
      {100, 99, 2079410263},        {100, 100, 1229425939},
      {1000, 2, 556474141},         {1000, 500, 1788419209},
      {1000, 999, 3445892305},      {1000, 1000, 1613329007},
      {20, 10, 2102013337, false},  {40, 20, 2603369768, false},
      {100, 50, 3385575538, false}, {1000, 500, 3295083967, false},
  };
  for (const Case& c : cases) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, TopKIndices(c.size, c.k, c.sorted));
    EXPECT_EQ(Hash(y), c.hash) << c.k << " of " << c.size << (c.sorted ? "" : ", not sorted");
  }
}

TEST(NanOrderTest, TheNthElementIsTensorFlows) {
  const std::vector<std::pair<int, std::vector<double>>> cases = {
      {20, {kNan, 0, 6, 25, kNan, 41, 47, 63, 66, kNan}},
      {40, {3, 0, 21, 18, 34, 43, kNan, 59, 72, 81}},
      {100, {0, kNan, 18, kNan, kNan, kNan, 51, 63, 74, 86}},
      {1000, {0, 10, kNan, 37, 42, 49, 70, 59, 81, kNan}},
  };
  for (const auto& [size, wanted] : cases) {
    for (int i = 0; i < 10; ++i) {
      const Tensor x = Tensor::Vector<float>(Jumble(size));
      ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("NthElement").Run1({x, Int(i * size / 10)}));
      EXPECT_EQ(Text<float>(y), Text<float>(Floats<float>({wanted[static_cast<size_t>(i)]}))) << i << " of " << size;
    }
  }
}

TEST(TolerantSortTest, SortsAndSelectsByAnOrder) {
  for (int size = 0; size < 300; ++size) {
    std::vector<int> values;
    for (int i = 0; i < size; ++i) values.push_back(i * 7919 % 257);
    std::vector<int> wanted = values;
    std::sort(wanted.begin(), wanted.end());
    std::vector<int> sorted = values;
    TolerantSort(absl::MakeSpan(sorted), std::less<int>());
    ASSERT_EQ(sorted, wanted) << size;
    for (int n = 0; n < size; n += 7) {
      std::vector<int> selected = values;
      TolerantSelect(absl::MakeSpan(selected), static_cast<size_t>(n), std::less<int>());
      ASSERT_EQ(selected[static_cast<size_t>(n)], wanted[static_cast<size_t>(n)]) << size;
    }
  }
}

// Whatever the comparison says, the elements stay in the range and are the same ones.
TEST(TolerantSortTest, NoComparisonLeadsOutOfTheRange) {
  uint32_t state = 1;
  const auto any = [&state](int, int) { return ((state = state * 1664525u + 1013904223u) >> 31) != 0; };
  const auto always = [](int, int) { return true; };
  for (int size = 0; size < 200; ++size) {
    for (int kind = 0; kind < 2; ++kind) {
      std::vector<int> values(static_cast<size_t>(size) + 2, -1);  // With guards at both ends.
      for (int i = 0; i < size; ++i) values[static_cast<size_t>(i) + 1] = i;
      const absl::Span<int> inner = absl::MakeSpan(values).subspan(1, static_cast<size_t>(size));
      kind == 0 ? TolerantSort(inner, any) : TolerantSort(inner, always);
      if (size > 0) kind == 0 ? TolerantSelect(inner, inner.size() / 2, any) : TolerantSelect(inner, 0, always);
      EXPECT_EQ(values.front() + values.back(), -2) << size;
      std::vector<int> left(inner.begin(), inner.end());
      std::sort(left.begin(), left.end());
      for (int i = 0; i < size; ++i) ASSERT_EQ(left[static_cast<size_t>(i)], i) << size;
    }
  }
}

}  // namespace
}  // namespace sluice
