// What feature columns and text models need: counts as sparse tensors, crosses of features, rows that are filled up.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Tensor Longs(const std::vector<int64_t>& values) { return Tensor::Vector<int64_t>(values); }
Tensor Floats(const std::vector<float>& values) { return Tensor::Vector<float>(values); }
Tensor Matrix(int64_t columns, const std::vector<int64_t>& values) {
  return Tensor::Of<int64_t>(Shape::Of({static_cast<int64_t>(values.size()) / columns, columns}), values);
}
std::vector<std::string> TextsOf(const Tensor& tensor) {
  std::vector<std::string> texts;
  for (const TString& text : tensor.flat<TString>()) texts.emplace_back(text.view());
  return texts;
}

// --- Counts -------------------------------------------------------------------------------------------------------

struct CountAttrs {
  int64_t min_length = -1, max_length = -1;
  bool is_binary = false;
};

absl::StatusOr<std::vector<Tensor>> Count(const std::string& kind, std::vector<Tensor> inputs, CountAttrs attrs = {}) {
  return KernelRunner(kind + "CountSparseOutput")
      .Attr("minlength", attrs.min_length)
      .Attr("maxlength", attrs.max_length)
      .Attr("binary_output", attrs.is_binary)
      .Run(std::move(inputs));
}

TEST(CountSparseTest, NumbersOfEachRowAreCounted) {
  const Tensor matrix = Matrix(3, {5, 1, 5, 0, 0, 0});
  ASSERT_OK_AND_ASSIGN(const auto counts, Count("Dense", {matrix, Floats({})}));
  EXPECT_THAT(Values<int64_t>(counts[0]), ElementsAre(0, 1, 0, 5, 1, 0));
  EXPECT_THAT(Values<float>(counts[1]), ElementsAre(1, 2, 3));
  EXPECT_THAT(Values<int64_t>(counts[2]), ElementsAre(2, 6));
  const Tensor weights = Tensor::Of<float>(Shape::Of({2, 3}), {1, 2, 4, 8, 16, 32});
  ASSERT_OK_AND_ASSIGN(const auto weighted, Count("Dense", {matrix, weights}, {8, -1}));
  EXPECT_THAT(Values<float>(weighted[1]), ElementsAre(2, 5, 56));
  EXPECT_THAT(Values<int64_t>(weighted[2]), ElementsAre(2, 8));
  ASSERT_OK_AND_ASSIGN(const auto binary, Count("Dense", {matrix, weights}, {-1, 5, true}));
  EXPECT_THAT(Values<int64_t>(binary[0]), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(Values<float>(binary[1]), ElementsAre(1, 1));
  EXPECT_THAT(Values<int64_t>(binary[2]), ElementsAre(2, 5));
  ASSERT_OK_AND_ASSIGN(const auto vector, Count("Dense", {Ints({3, 3, 1}), Longs({})}));
  EXPECT_THAT(Values<int64_t>(vector[0]), ElementsAre(1, 3));
  EXPECT_THAT(Values<int64_t>(vector[1]), ElementsAre(1, 2));
  EXPECT_THAT(Values<int64_t>(vector[2]), ElementsAre(4));
  ASSERT_OK_AND_ASSIGN(const auto ragged, Count("Ragged", {Longs({0, 2, 2, 3}), Longs({7, 7, 1}), Floats({})}));
  EXPECT_THAT(Values<int64_t>(ragged[0]), ElementsAre(0, 7, 2, 1));
  EXPECT_THAT(Values<int64_t>(ragged[2]), ElementsAre(3, 8));
  const Tensor indices = Matrix(2, {0, 1, 1, 0, 1, 3});
  ASSERT_OK_AND_ASSIGN(const auto sparse, Count("Sparse", {indices, Longs({2, 4, 4}), Longs({2, 4}), Floats({})}));
  EXPECT_THAT(Values<int64_t>(sparse[0]), ElementsAre(0, 2, 1, 4));
  EXPECT_THAT(Values<float>(sparse[1]), ElementsAre(1, 2));
}

TEST(CountSparseTest, ChecksInputs) {
  EXPECT_THAT(Count("Dense", {Ints({-1}), Floats({})}), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(Count("Dense", {Int(1), Floats({})}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(Count("Dense", {Ints({1, 2}), Floats({1})}), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(Count("Dense", {Tensor::Make(DType::kInt32, Shape::Of({0, 2})).value(), Floats({})}),
              IsError(ErrorCode::kOpShape, "no rows"));
  EXPECT_THAT(Count("Ragged", {Longs({0}), Ints({}), Floats({})}), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(Count("Ragged", {Longs({0, 2}), Ints({1}), Floats({})}), IsError(ErrorCode::kOpValue, "splits"));
  EXPECT_THAT(Count("Ragged", {Longs({0, 5, 1}), Ints({1}), Floats({})}), IsError(ErrorCode::kOpValue, "splits"));
  EXPECT_FALSE(Count("Sparse", {Matrix(2, {2, 0}), Longs({1}), Longs({2, 1}), Floats({})}).ok());
  // Integer weights wrap around.
  const int64_t most = std::numeric_limits<int64_t>::max();
  ASSERT_OK_AND_ASSIGN(const auto sum, Count("Dense", {Ints({0, 0}), Longs({most, 1})}));
  EXPECT_THAT(Values<int64_t>(sum[1]), ElementsAre(std::numeric_limits<int64_t>::min()));
}

// --- Crosses ------------------------------------------------------------------------------------------------------

// Two sparse columns of two rows and a dense one, as the ops take them.
std::vector<Tensor> Columns(Tensor first, Tensor dense) {
  const Tensor indices = Matrix(2, {0, 0, 1, 0, 1, 1});
  return {indices,       indices,       std::move(first), Tensor::Strings({"d", "e", "f"}),
          Longs({2, 2}), Longs({2, 2}), std::move(dense)};
}
Tensor Column(const std::vector<absl::string_view>& texts) {
  return Tensor::Strings(texts).Reshaped(Shape::Of({static_cast<int64_t>(texts.size()), 1})).value();
}

KernelRunner CrossRunner(const std::string& op, DType first, DType dense) {
  KernelRunner runner(op);
  runner.Attr("N", 2).Attr("sparse_types", std::vector<DType>{first, DType::kString});
  runner.Attr("dense_types", std::vector<DType>{dense});
  return runner;
}

absl::StatusOr<std::vector<Tensor>> Cross(std::vector<Tensor> inputs, DType out, DType internal, int64_t buckets = 0) {
  return CrossRunner("SparseCross", inputs[2].dtype(), inputs[6].dtype())
      .Attr("hashed_output", out == DType::kInt64)
      .Attr("num_buckets", buckets)
      .Attr("hash_key", int64_t{956888297470})
      .Attr("out_type", out)
      .Attr("internal_type", internal)
      .Run(std::move(inputs));
}

TEST(SparseCrossTest, CombinesTheFeaturesOfEachRow) {
  const Tensor texts = Tensor::Strings({"a", "b", "c"}), numbers = Longs({7, -8, 9}), dense = Matrix(1, {5, -6});
  ASSERT_OK_AND_ASSIGN(const auto joined, Cross(Columns(texts, Column({"g", "h"})), DType::kString, DType::kString));
  EXPECT_THAT(Values<int64_t>(joined[0]), ElementsAre(0, 0, 1, 0, 1, 1, 1, 2, 1, 3));
  EXPECT_THAT(TextsOf(joined[1]), ElementsAre("a_X_d_X_g", "b_X_e_X_h", "b_X_f_X_h", "c_X_e_X_h", "c_X_f_X_h"));
  EXPECT_THAT(Values<int64_t>(joined[2]), ElementsAre(2, 4));
  ASSERT_OK_AND_ASSIGN(const auto mixed, Cross(Columns(numbers, dense), DType::kString, DType::kInt64));
  EXPECT_THAT(TextsOf(mixed[1]), ElementsAre("7_X_d_X_5", "-8_X_e_X_-6", "-8_X_f_X_-6", "9_X_e_X_-6", "9_X_f_X_-6"));
  ASSERT_OK_AND_ASSIGN(const auto hashed, Cross(Columns(numbers, dense), DType::kInt64, DType::kInt64));
  EXPECT_THAT(Values<int64_t>(hashed[1]), ElementsAre(202592852967424959, 3470383822295352523, 4146503435268908702,
                                                      8379951478167298313, 6388798660485970440));
  ASSERT_OK_AND_ASSIGN(const auto buckets, Cross(Columns(numbers, dense), DType::kInt64, DType::kInt64, 100));
  EXPECT_THAT(Values<int64_t>(buckets[1]), ElementsAre(66, 23, 2, 13, 40));
  auto inputs = Columns(texts, Column({"g", "h"}));
  inputs.push_back(Tensor::String("-"));
  ASSERT_OK_AND_ASSIGN(const auto v2, CrossRunner("SparseCrossV2", DType::kString, DType::kString).Run(inputs));
  EXPECT_THAT(TextsOf(v2[1]), ElementsAre("a-d-g", "b-e-h", "b-f-h", "c-e-h", "c-f-h"));
}

TEST(SparseCrossTest, HashesAreThoseOfTensorFlow) {
  const auto run = [](bool is_strong) {
    auto inputs = Columns(Longs({7, -8, 9}), Column({"g", "h"}));
    inputs.push_back(Tensor::Scalar<int64_t>(0));
    inputs.push_back(Tensor::Scalar(is_strong));
    inputs.push_back(Longs({3, -4}));
    return CrossRunner("SparseCrossHashed", DType::kInt64, DType::kString).Run(inputs);
  };
  ASSERT_OK_AND_ASSIGN(const auto strong, run(true));
  EXPECT_THAT(Values<int64_t>(strong[1]), ElementsAre(5467089794733354369, 1126442663410241850, 2826105347079917235,
                                                      6967554075135348220, 7144786005763048517));
  ASSERT_OK_AND_ASSIGN(const auto fast, run(false));
  EXPECT_THAT(Values<int64_t>(fast[1]), ElementsAre(4208075780561843480, 1951588024428610906, 6206297109805169066,
                                                    7492926686987404029, 2047596522736661373));
}

TEST(SparseCrossTest, ChecksColumns) {
  const auto run = [](std::vector<Tensor> inputs, DType internal = DType::kInt64) {
    return Cross(std::move(inputs), DType::kString, internal);
  };
  const std::vector<Tensor> good = Columns(Longs({7, 8, 9}), Matrix(1, {5, 6}));
  EXPECT_OK(run(good));
  EXPECT_THAT(run(good, DType::kString), IsError(ErrorCode::kOpAttr, "internal_type"));
  const auto with = [&good](size_t i, Tensor input) {
    std::vector<Tensor> inputs = good;
    inputs[i] = std::move(input);
    return inputs;
  };
  EXPECT_THAT(run(with(0, Matrix(3, {0, 0, 0}))), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(run(with(0, Matrix(2, {0, 0}))), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(run(with(4, Longs({2}))), IsError(ErrorCode::kOpShape, "shapes"));
  EXPECT_THAT(run(with(5, Longs({3, 2}))), IsError(ErrorCode::kOpValue, "shapes"));
  EXPECT_FALSE(run(with(4, Longs({-1, 2}))).ok());
  EXPECT_FALSE(run(with(4, Longs({std::numeric_limits<int64_t>::max(), 1}))).ok());
  EXPECT_FALSE(run(with(4, Longs({int64_t{1} << 45, 1}))).ok());
  EXPECT_THAT(run(with(6, Matrix(1, {5}))), IsError(ErrorCode::kOpShape, "dense_inputs"));
  // Rows outside, and those that do not ascend, are passed over.
  ASSERT_OK_AND_ASSIGN(const auto outside, run(with(0, Matrix(2, {7, 0, 0, 0, 1, 0}))));
  EXPECT_THAT(TextsOf(outside[1]), IsEmpty());
}

TEST(SparseCrossTest, CombinationsThatTakeTooMuchAreNotMade) {
  const int64_t width = 3000;
  const Tensor row = Counting<int64_t>({1, width});
  std::vector<Tensor> inputs(7, row);
  KernelRunner runner("SparseCross");
  runner.Attr("N", 0)
      .Attr("sparse_types", AttrValue::EmptyList())
      .Attr("dense_types", std::vector<DType>(7, DType::kInt64));
  runner.Attr("hashed_output", true).Attr("num_buckets", 0).Attr("hash_key", 1);
  runner.Attr("out_type", DType::kInt64).Attr("internal_type", DType::kInt64);
  EXPECT_FALSE(runner.Run(std::move(inputs)).ok());
}

// --- Empty rows ---------------------------------------------------------------------------------------------------

absl::StatusOr<std::vector<Tensor>> Fill(Tensor ids, Tensor values, int64_t rows) {
  return KernelRunner("RaggedFillEmptyRows")
      .Run({std::move(ids), std::move(values), Tensor::Scalar<int64_t>(rows), Tensor::Scalar(-1.0f)});
}

TEST(RaggedFillEmptyRowsTest, EveryRowHasAValue) {
  ASSERT_OK_AND_ASSIGN(const auto filled, Fill(Longs({2, 0, 2}), Floats({1, 2, 3}), 4));
  EXPECT_THAT(Values<int64_t>(filled[0]), ElementsAre(0, 1, 2, 2, 3));
  EXPECT_THAT(Values<float>(filled[1]), ElementsAre(2, -1, 1, 3, -1));
  EXPECT_THAT(Values<bool>(filled[2]), ElementsAre(false, true, false, true));
  EXPECT_THAT(Values<int64_t>(filled[3]), ElementsAre(2, 0, 3));
  EXPECT_THAT(Fill(Longs({4}), Floats({1}), 4), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(Fill(Longs({-1}), Floats({1}), 4), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(Fill(Longs({0}), Floats({1, 2}), 4), IsError(ErrorCode::kOpShapes));
  EXPECT_FALSE(Fill(Longs({0}), Floats({1}), -1).ok());
  EXPECT_FALSE(Fill(Longs({0}), Floats({1}), std::numeric_limits<int64_t>::max()).ok());
  ASSERT_OK_AND_ASSIGN(const auto grads,
                       KernelRunner("RaggedFillEmptyRowsGrad").Run({filled[3], Floats({1, 2, 4, 8, 16})}));
  EXPECT_THAT(Values<float>(grads[0]), ElementsAre(4, 1, 8));
  EXPECT_THAT(Values<float>(grads[1]), ElementsAre(18));
}

}  // namespace
}  // namespace sluice
