#include <cmath>
#include <complex>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/kernels/image/images.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Longs = std::vector<int64_t>;

Tensor Indices(const Longs& values, int64_t rank) {
  return Tensor::Of<int64_t>(Shape::Of({static_cast<int64_t>(values.size()) / rank, rank}), values);
}
// A text for each of two sequences, a letter each.
Tensor Letters(DType dtype, const std::string& text) {
  if (dtype == DType::kString) {
    std::vector<absl::string_view> views;
    for (const char& c : text) views.emplace_back(&c, 1);
    return Tensor::Strings(views);
  }
  std::vector<double> values(text.begin(), text.end());
  return TensorOf(dtype, {static_cast<int64_t>(text.size())}, values);
}
Tensor PlacesOf(const std::vector<std::string>& texts) {
  Longs values;
  for (size_t i = 0; i < texts.size(); ++i) {
    for (size_t k = 0; k < texts[i].size(); ++k) {
      values.push_back(static_cast<int64_t>(i));
      values.push_back(static_cast<int64_t>(k));
    }
  }
  return Indices(values, 2);
}
std::string Joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  return all;
}

TEST(EditDistanceTest, CountsChangesForAllDTypes) {
  const std::vector<std::string> said = {"kitten", "", "abc", "flaw", "", "same"};
  const std::vector<std::string> meant = {"sitting", "xy", "", "lawn", "", "same"};
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> distances = {3, 2, 3, 2, 0, 0}, parts = {3.0 / 7, 1, inf, 0.5, 0, 0};
  const Tensor size = Tensor::Vector<int64_t>({6, 7});
  for (const DType dtype :
       {DType::kString, DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16, DType::kInt8, DType::kUInt8,
        DType::kInt16, DType::kUInt16, DType::kInt32, DType::kUInt32, DType::kInt64, DType::kUInt64}) {
    for (const bool normalizes : {false, true}) {
      ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("EditDistance")
                                               .Attr("normalize", normalizes)
                                               .Run1({PlacesOf(said), Letters(dtype, Joined(said)), size,
                                                      PlacesOf(meant), Letters(dtype, Joined(meant)), size}));
      for (size_t i = 0; i < 6; ++i) {
        const double want = normalizes ? parts[i] : distances[i];
        EXPECT_FLOAT_EQ(y.flat<float>()[i], static_cast<float>(want)) << DTypeName(dtype) << " " << i;
      }
    }
  }
}

// As ==: zeros of both signs are equal, NaN is equal to nothing; a complex number is both of its parts.
TEST(EditDistanceTest, ComparesNumbersAsNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto distance = [](const Tensor& said, const Tensor& meant) {
    const auto indices = [](const Tensor& values) {
      Longs all;
      for (int64_t i = 0; i < values.num_elements(); ++i) all.insert(all.end(), {0, i});
      return Indices(all, 2);
    };
    const Tensor size = Tensor::Vector<int64_t>({1, 9});
    const absl::StatusOr<Tensor> y = KernelRunner("EditDistance")
                                         .Attr("normalize", false)
                                         .Run1({indices(said), said, size, indices(meant), meant, size});
    return y.ok() ? y->flat<float>()[0] : -1.0f;
  };
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16}) {
    EXPECT_EQ(distance(TensorOf(dtype, {4}, {0, 1, nan, nan}), TensorOf(dtype, {4}, {-0.0, 1, nan, 2})), 2.0f);
  }
  const auto complex = [&](auto zero) {
    using C = std::complex<decltype(zero)>;
    const auto n = static_cast<decltype(zero)>(nan);
    const std::vector<C> said = {C(1, 2), C(3, 4), C(n, 0), C(0, -zero)},
                         meant = {C(1, 2), C(3, 5), C(n, 0), C(-zero, 0)};
    return distance(Tensor::Vector<C>(said), Tensor::Vector<C>(meant));
  };
  EXPECT_EQ(complex(0.0f), 2.0f);
  EXPECT_EQ(complex(0.0), 2.0f);
  EXPECT_EQ(distance(Tensor::Vector<bool>({true, false}), Tensor::Vector<bool>({false, false})), 1.0f);
}

// TensorFlow refuses them, too.
TEST(EditDistanceTest, RefusesAResultWithoutSequences) {
  const Tensor none = Indices({}, 2), size = Tensor::Vector<int64_t>({0, 3});
  const Tensor values = Tensor::Vector<int32_t>({});
  EXPECT_THAT(KernelRunner("EditDistance").Run1({none, values, size, none, values, size}).status(),
              IsError(ErrorCode::kOpShapes));
}

TEST(EditDistanceTest, RefusesIndicesOutsideAndOtherShapes) {
  const auto run = [](const Longs& h, const Longs& h_size, const Longs& t, const Longs& t_size) {
    const auto letters = [](const Longs& indices, size_t rank) {
      return Letters(DType::kInt32, std::string(indices.size() / rank, 'a'));
    };
    const int64_t h_rank = static_cast<int64_t>(h_size.size()), t_rank = static_cast<int64_t>(t_size.size());
    return KernelRunner("EditDistance")
        .Run1({Indices(h, h_rank), letters(h, h_size.size()), Tensor::Vector<int64_t>(h_size), Indices(t, t_rank),
               letters(t, t_size.size()), Tensor::Vector<int64_t>(t_size)})
        .status();
  };
  EXPECT_OK(run({0, 7}, {2, 3}, {0, 0}, {2, 2}));
  EXPECT_OK(run({}, {2, 3}, {}, {0, 0}));
  for (const int64_t row : {int64_t{2}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_THAT(run({row, 0}, {2, 3}, {0, 0}, {2, 2}), IsError(ErrorCode::kOpBroken));
    EXPECT_THAT(run({0, 0}, {2, 3}, {row, 0}, {2, 2}), IsError(ErrorCode::kOpBroken));
  }
  EXPECT_THAT(run({0}, {3}, {0}, {3}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run({0, 0}, {2, 3}, {0, 0, 0}, {2, 2, 2}), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(run({0, 0}, {-2, 3}, {0, 0}, {2, 2}), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run({0, 0}, {INT64_MAX, INT64_MAX}, {0, 0}, {2, 2}), IsError(ErrorCode::kOpTooLarge));
}

}  // namespace
}  // namespace sluice
