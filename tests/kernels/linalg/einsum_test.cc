#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// 1, 2, 3, ...
Tensor Count(std::initializer_list<int64_t> dims) {
  const Shape shape = Shape::Of(dims);
  std::vector<int32_t> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i) + 1;
  return Tensor::Of<int32_t>(shape, values);
}

absl::StatusOr<Tensor> Einsum(const std::string& equation, std::vector<Tensor> inputs) {
  KernelRunner runner("Einsum");
  runner.Attr("equation", equation).Attr("N", static_cast<int64_t>(inputs.size())).Attr("T", DType::kInt32);
  return runner.Run1(std::move(inputs));
}

void ExpectValues(const absl::StatusOr<Tensor>& tensor, const Shape& shape, const std::vector<int32_t>& values) {
  ASSERT_OK(tensor);
  EXPECT_EQ(tensor->shape(), shape);
  const absl::Span<const int32_t> flat = tensor->flat<int32_t>();
  EXPECT_EQ(std::vector<int32_t>(flat.begin(), flat.end()), values);
}

TEST(EinsumTest, MultipliesMatricesAsTheyLieAndTransposed) {
  ExpectValues(Einsum("ij,jk->ik", {Count({1, 2}), Count({2, 2})}), Shape::Of({1, 2}), {7, 10});
  ExpectValues(Einsum("ij,kj->ik", {Count({1, 2}), Count({2, 2})}), Shape::Of({1, 2}), {5, 11});
  ExpectValues(Einsum("ij,jk->ki", {Count({2, 2}), Count({2, 2})}), Shape::Of({2, 2}), {7, 15, 10, 22});
}

TEST(EinsumTest, OneInputIsTransposedSummedAndCutDiagonally) {
  ExpectValues(Einsum("ij->ji", {Count({2, 3})}), Shape::Of({3, 2}), {1, 4, 2, 5, 3, 6});
  ExpectValues(Einsum("ij->j", {Count({2, 3})}), Shape::Of({3}), {5, 7, 9});
  ExpectValues(Einsum("ii->i", {Count({3, 3})}), Shape::Of({3}), {1, 5, 9});
  ExpectValues(Einsum("ii->", {Count({3, 3})}), Shape::Of({}), {15});
}

TEST(EinsumTest, ProductsWithoutSumsAndSumsWithoutRest) {
  ExpectValues(Einsum("i,j->ij", {Count({2}), Count({3})}), Shape::Of({2, 3}), {1, 2, 3, 2, 4, 6});
  ExpectValues(Einsum("i,i->", {Count({3}), Count({3})}), Shape::Of({}), {14});
  ExpectValues(Einsum("ij,k->k", {Count({2, 2}), Count({2})}), Shape::Of({2}), {10, 20});
}

TEST(EinsumTest, HiddenAxesBroadcast) {
  ExpectValues(Einsum("...ij,...jk->...ik", {Count({2, 1, 1}), Count({1, 1})}), Shape::Of({2, 1, 1}), {1, 2});
  ExpectValues(Einsum("...i,...i->...", {Count({1, 2}), Count({2, 2})}), Shape::Of({2}), {5, 11});
}

TEST(EinsumTest, SumsOverNothingAreZero) {
  ExpectValues(Einsum("ij,jk->ik", {Count({1, 0}), Count({0, 2})}), Shape::Of({1, 2}), {0, 0});
}

TEST(EinsumTest, RefusesWhatDoesNotFit) {
  const auto code = [](const std::string& equation, std::vector<Tensor> inputs) {
    return Einsum(equation, std::move(inputs)).status().code();
  };
  EXPECT_EQ(code("ij,jk->ik", {Count({1, 2}), Count({3, 1})}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("ij,jk->ik", {Count({2}), Count({2, 1})}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("ii->i", {Count({2, 3})}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("ij->k", {Count({2, 3})}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("i j->ij", {Count({2, 3})}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code("i,j->ij", {Count({2})}), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sluice
