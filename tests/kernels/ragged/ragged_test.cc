// Ops on ragged tensors: what TensorFlow 2.19 gives, ways that must agree, and splits that lead nowhere.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
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

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Tensor Longs(const std::vector<int64_t>& values) { return Tensor::Vector<int64_t>(values); }
Tensor Floats(const std::vector<float>& values) { return Tensor::Vector<float>(values); }

// --- RaggedGather -------------------------------------------------------------------------------------------------

absl::StatusOr<std::vector<Tensor>> Gather(std::vector<Tensor> splits, Tensor values, Tensor indices) {
  const int64_t rank = static_cast<int64_t>(splits.size());
  const int64_t out_rank = rank + indices.rank() - 1;
  std::vector<Tensor> inputs = std::move(splits);
  inputs.push_back(std::move(values));
  inputs.push_back(std::move(indices));
  return KernelRunner("RaggedGather")
      .Attr("PARAMS_RAGGED_RANK", rank)
      .Attr("OUTPUT_RAGGED_RANK", out_rank)
      .Run(std::move(inputs));
}

TEST(RaggedGatherTest, RowsAreChosen) {
  // [[0, 1], [], [2, 3, 4]]
  ASSERT_OK_AND_ASSIGN(const auto rows, Gather({Longs({0, 2, 2, 5})}, Counting({5}), Ints({2, 0, 1, 2})));
  EXPECT_THAT(Values<int64_t>(rows[0]), ElementsAre(0, 3, 5, 5, 8));
  EXPECT_THAT(Values<float>(rows[1]), ElementsAre(2, 3, 4, 0, 1, 2, 3, 4));
  // [[[0], [1, 2]], [[3]]], chosen by a matrix.
  const Tensor matrix = Tensor::Of<int32_t>(Shape::Of({2, 1}), {1, 0});
  ASSERT_OK_AND_ASSIGN(const auto nested, Gather({Ints({0, 2, 3}), Ints({0, 1, 3, 4})}, Counting({4, 2}), matrix));
  EXPECT_THAT(Values<int32_t>(nested[0]), ElementsAre(0, 1, 2));
  EXPECT_THAT(Values<int32_t>(nested[1]), ElementsAre(0, 1, 3));
  EXPECT_THAT(Values<int32_t>(nested[2]), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(Values<float>(nested[3]), ElementsAre(6, 7, 0, 1, 2, 3, 4, 5));
  // A scalar gives one row, which is not ragged; splits need not begin with 0.
  ASSERT_OK_AND_ASSIGN(const auto one, Gather({Longs({1, 3})}, Counting({5}), Int(0)));
  EXPECT_THAT(Values<float>(one[0]), ElementsAre(1, 2));
  ASSERT_OK_AND_ASSIGN(const auto none, Gather({Longs({0})}, Counting({0}), Ints({})));
  EXPECT_THAT(Values<int64_t>(none[0]), ElementsAre(0));
}

TEST(RaggedGatherTest, ChecksSplitsAndIndices) {
  EXPECT_THAT(Gather({Longs({0, 2})}, Counting({2}), Ints({1})), IsError(ErrorCode::kOpValue, "indices"));
  EXPECT_THAT(Gather({Longs({0, 2})}, Counting({2}), Ints({-1})), IsError(ErrorCode::kOpValue, "indices"));
  EXPECT_THAT(Gather({Longs({0})}, Counting({2}), Ints({0})), IsError(ErrorCode::kOpValue, "no rows"));
  EXPECT_THAT(Gather({Longs({0, 3})}, Counting({2}), Ints({0})), IsError(ErrorCode::kOpValue, "split"));
  EXPECT_THAT(Gather({Longs({0, kMax})}, Counting({2}), Ints({0})), IsError(ErrorCode::kOpValue, "split"));
  EXPECT_THAT(Gather({Longs({-1, 2})}, Counting({2}), Ints({0})), IsError(ErrorCode::kOpValue, "split"));
  EXPECT_THAT(Gather({Longs({0, 2, 1})}, Counting({2}), Ints({0})), IsError(ErrorCode::kOpValue, "split"));
  EXPECT_THAT(Gather({Longs({0, 2}), Longs({0, 2})}, Counting({2}), Ints({0})), IsError(ErrorCode::kOpValue, "split"));
  EXPECT_THAT(Gather({Longs({})}, Counting({2}), Ints({})), IsError(ErrorCode::kOpShape, "split"));
  EXPECT_THAT(Gather({Longs({0})}, Tensor::Scalar(1.0f), Ints({})), IsError(ErrorCode::kOpShape));
}

// --- RaggedRange --------------------------------------------------------------------------------------------------

absl::StatusOr<std::vector<Tensor>> Range(Tensor starts, Tensor limits, Tensor deltas, DType splits = DType::kInt64) {
  return KernelRunner("RaggedRange")
      .Attr("Tsplits", splits)
      .Run({std::move(starts), std::move(limits), std::move(deltas)});
}

TEST(RaggedRangeTest, RowsCountUpAndDown) {
  ASSERT_OK_AND_ASSIGN(const auto ints, Range(Ints({2, 5, 8, 3}), Ints({3, 5, 12, -2}), Ints({1, 1, 3, -2})));
  EXPECT_THAT(Values<int64_t>(ints[0]), ElementsAre(0, 1, 1, 3, 6));
  EXPECT_THAT(Values<int32_t>(ints[1]), ElementsAre(2, 8, 11, 3, 1, -1));
  ASSERT_OK_AND_ASSIGN(const auto floats,
                       Range(Tensor::Scalar(0.5f), Floats({2, 0}), Tensor::Scalar(0.75f), DType::kInt32));
  EXPECT_THAT(Values<int32_t>(floats[0]), ElementsAre(0, 2, 2));
  EXPECT_THAT(Values<float>(floats[1]), ElementsAre(0.5f, 1.25f));
  ASSERT_OK_AND_ASSIGN(const auto scalars, Range(Int(1), Int(3), Int(1)));
  EXPECT_THAT(Values<int64_t>(scalars[0]), ElementsAre(0, 2));
  const auto long_of = [](int64_t value) { return Tensor::Scalar<int64_t>(value); };
  ASSERT_OK_AND_ASSIGN(const auto ends, Range(long_of(kMax - 1), long_of(kMax), long_of(kMax)));
  EXPECT_THAT(Values<int64_t>(ends[1]), ElementsAre(kMax - 1));
  ASSERT_OK_AND_ASSIGN(const auto whole, Range(long_of(kMin), long_of(kMax), long_of(kMax)));
  EXPECT_THAT(Values<int64_t>(whole[1]), ElementsAre(kMin, -1, kMax - 1));
}

TEST(RaggedRangeTest, ChecksSizes) {
  const auto long_of = [](int64_t value) { return Tensor::Scalar<int64_t>(value); };
  EXPECT_THAT(Range(Ints({1}), Ints({2}), Ints({0})), IsError(ErrorCode::kOpValue, "deltas"));
  EXPECT_THAT(Range(Ints({1, 2}), Ints({2, 3, 4}), Int(1)), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(Range(Tensor::Of<int32_t>(Shape::Of({1, 1}), {1}), Int(2), Int(1)), IsError(ErrorCode::kOpShape));
  EXPECT_FALSE(Range(long_of(kMin), long_of(kMax), long_of(1)).ok());
  EXPECT_FALSE(Range(long_of(0), long_of(kMax), long_of(1)).ok());
  EXPECT_THAT(Range(long_of(0), long_of(int64_t{1} << 31), long_of(1), DType::kInt32), IsError(ErrorCode::kOpValue));
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {inf, nan}) {
    EXPECT_THAT(Range(Tensor::Scalar(0.0f), Tensor::Scalar(bad), Tensor::Scalar(1.0f)), IsError(ErrorCode::kOpValue));
  }
  EXPECT_THAT(Range(Tensor::Scalar(0.0f), Tensor::Scalar(1.0f), Tensor::Scalar(nan)), IsError(ErrorCode::kOpValue));
}

// --- RaggedTensorToSparse, RaggedTensorToTensor -------------------------------------------------------------------

absl::StatusOr<std::vector<Tensor>> ToSparse(std::vector<Tensor> splits, Tensor values) {
  KernelRunner runner("RaggedTensorToSparse");
  runner.Attr("RAGGED_RANK", static_cast<int64_t>(splits.size()));
  splits.push_back(std::move(values));
  return runner.Run(std::move(splits));
}

TEST(RaggedToSparseTest, AllValuesAreEntries) {
  ASSERT_OK_AND_ASSIGN(const auto sparse, ToSparse({Longs({0, 2, 2, 3})}, Counting({3, 2})));
  EXPECT_THAT(Values<int64_t>(sparse[0]), ElementsAre(0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 2, 0, 0, 2, 0, 1));
  EXPECT_THAT(Values<float>(sparse[1]), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Values<int64_t>(sparse[2]), ElementsAre(3, 2, 2));
  ASSERT_OK_AND_ASSIGN(const auto empty, ToSparse({Ints({0}), Ints({0})}, Counting({0, 5})));
  EXPECT_THAT(Dims(empty[0]), ElementsAre(0, 4));
  EXPECT_THAT(Values<int64_t>(empty[2]), ElementsAre(0, 0, 0, 5));
  EXPECT_THAT(ToSparse({Longs({0, 2})}, Counting({3})), IsError(ErrorCode::kOpValue, "rows"));
  EXPECT_THAT(ToSparse({Longs({1, 3})}, Counting({3})), IsError(ErrorCode::kOpValue, "split"));
  EXPECT_THAT(ToSparse({Longs({0, 1}), Longs({0, 1, 3})}, Counting({3})), IsError(ErrorCode::kOpValue));
}

using Names = std::vector<std::string>;

absl::StatusOr<Tensor> ToTensor(const Names& types, Tensor shape, Tensor values, Tensor otherwise,
                                std::vector<Tensor> partitions) {
  std::vector<Tensor> inputs = {std::move(shape), std::move(values), std::move(otherwise)};
  inputs.insert(inputs.end(), partitions.begin(), partitions.end());
  return KernelRunner("RaggedTensorToTensor")
      .Attr("num_row_partition_tensors", static_cast<int64_t>(partitions.size()))
      .Attr("row_partition_types", types)
      .Run1(std::move(inputs));
}

TEST(RaggedToTensorTest, RowsAreFilledUpAndCut) {
  const Names splits = {"ROW_SPLITS"}, ids = {"FIRST_DIM_SIZE", "VALUE_ROWIDS"};
  const Tensor any = Tensor::Scalar<int64_t>(-1), nine = Tensor::Scalar(9.0f);
  const auto long_of = [](int64_t value) { return Tensor::Scalar<int64_t>(value); };
  for (const bool by_ids : {false, true}) {
    const auto run = [&](Tensor shape, Tensor otherwise) {
      if (by_ids) return ToTensor(ids, shape, Counting({3}), otherwise, {long_of(3), Longs({0, 0, 2})});
      return ToTensor(splits, shape, Counting({3}), otherwise, {Longs({0, 2, 2, 3})});
    };
    ASSERT_OK_AND_ASSIGN(const Tensor own, run(any, nine));
    EXPECT_THAT(Dims(own), ElementsAre(3, 2));
    EXPECT_THAT(Values<float>(own), ElementsAre(0, 1, 9, 9, 2, 9));
    ASSERT_OK_AND_ASSIGN(const Tensor cut, run(Longs({4, 1}), nine));
    EXPECT_THAT(Values<float>(cut), ElementsAre(0, 9, 2, 9));
    ASSERT_OK_AND_ASSIGN(const Tensor wide, run(Longs({1, 3}), nine));
    EXPECT_THAT(Values<float>(wide), ElementsAre(0, 1, 9));
    ASSERT_OK_AND_ASSIGN(const Tensor none, run(Longs({0, -1}), nine));
    EXPECT_THAT(Dims(none), ElementsAre(0, 2));
  }
  // Values of two dimensions, and a default that is a row of them.
  ASSERT_OK_AND_ASSIGN(const Tensor rows, ToTensor(splits, any, Counting({2, 2}), Floats({7, 8}), {Ints({0, 0, 2})}));
  EXPECT_THAT(Values<float>(rows), ElementsAre(7, 8, 7, 8, 0, 1, 2, 3));
  // A default with one number for each row of a value.
  ASSERT_OK_AND_ASSIGN(const Tensor columns,
                       ToTensor(splits, any, Counting({1, 2, 3}), Floats({7, 8}).Reshaped(Shape::Of({2, 1})).value(),
                                {Ints({0, 0, 1})}));
  EXPECT_THAT(Values<float>(columns), ElementsAre(7, 7, 7, 8, 8, 8, 0, 1, 2, 3, 4, 5));
  ASSERT_OK_AND_ASSIGN(const Tensor texts,
                       ToTensor(splits, any, Tensor::Strings({"a"}), Tensor::String("-"), {Ints({0, 0, 1})}));
  EXPECT_EQ(texts.flat<TString>()[0].view(), "-");
  EXPECT_EQ(texts.flat<TString>()[1].view(), "a");
}

TEST(RaggedToTensorTest, ChecksPartitionsAndShapes) {
  const Names splits = {"ROW_SPLITS"};
  const Tensor any = Tensor::Scalar<int64_t>(-1), nine = Tensor::Scalar(9.0f);
  const auto run = [&](Tensor shape, Tensor otherwise, Tensor partition) {
    return ToTensor(splits, std::move(shape), Counting({2}), std::move(otherwise), {std::move(partition)});
  };
  const auto long_of = [](int64_t value) { return Tensor::Scalar<int64_t>(value); };
  EXPECT_FALSE(run(any, nine, Longs({0, 1})).ok());  // One value is left over.
  EXPECT_FALSE(run(any, nine, Longs({0, 3})).ok());
  EXPECT_FALSE(run(Longs({1, 1}), nine, Longs({0, kMax})).ok());
  EXPECT_FALSE(run(any, nine, Longs({0, kMax})).ok());
  EXPECT_FALSE(run(any, nine, Longs({2, 0, 2})).ok());
  EXPECT_FALSE(run(any, nine, Longs({})).ok());
  EXPECT_FALSE(run(any, Floats({1, 2}), Longs({0, 2})).ok());
  EXPECT_THAT(run(long_of(12345), nine, Longs({0, 2})), IsError(ErrorCode::kOpShape, "12345"));
  EXPECT_FALSE(run(Longs({1}), nine, Longs({0, 2})).ok());
  EXPECT_FALSE(run(Longs({1, -2}), nine, Longs({0, 2})).ok());
  EXPECT_FALSE(run(Longs({kMax, kMax}), nine, Longs({0, 2})).ok());
  const Names ids = {"FIRST_DIM_SIZE", "VALUE_ROWIDS"};
  EXPECT_FALSE(ToTensor(ids, any, Counting({2}), nine, {long_of(1), Longs({0, 1})}).ok());
  EXPECT_FALSE(ToTensor(ids, any, Counting({2}), nine, {long_of(1), Longs({0, -1})}).ok());
  EXPECT_FALSE(ToTensor(ids, Longs({1, 2}), Counting({2}), nine, {long_of(kMax), Longs({0, 0})}).ok());
  EXPECT_THAT(ToTensor(ids, any, Counting({0}), nine, {long_of(-1), Longs({})}), IsError(ErrorCode::kOpValue, "-1"));
  for (const Names& bad :
       {Names{"VALUE_ROWIDS"}, Names{"ROW_SPLITS", "FIRST_DIM_SIZE"}, Names{"ROW_LENGTHS"}, Names{}}) {
    std::vector<Tensor> partitions(std::max<size_t>(bad.size(), 1), Longs({0, 2}));
    EXPECT_THAT(ToTensor(bad, any, Counting({2}), nine, partitions), IsError(ErrorCode::kOpAttr));
  }
}

// A ragged tensor becomes the same dense one directly and by way of a sparse one.
TEST(RaggedToTensorTest, AgreesWithSparseTensors) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const size_t rank = 1 + random() % 3;
    std::vector<Tensor> splits;
    int64_t rows = static_cast<int64_t>(random() % 5);
    for (size_t level = 0; level < rank; ++level) {
      std::vector<int64_t> ends = {0};
      for (int64_t row = 0; row < rows; ++row) ends.push_back(ends.back() + random() % 4);
      splits.push_back(Longs(ends));
      rows = ends.back();
    }
    const Tensor values = Counting({rows, 2});
    ASSERT_OK_AND_ASSIGN(const Tensor direct, ToTensor(Names(rank, "ROW_SPLITS"), Tensor::Scalar<int64_t>(-1), values,
                                                       Tensor::Scalar(-1.0f), splits));
    ASSERT_OK_AND_ASSIGN(const auto sparse, ToSparse(splits, values));
    ASSERT_OK_AND_ASSIGN(const Tensor dense, KernelRunner("SparseToDense")
                                                 .Attr("validate_indices", true)
                                                 .Run1({sparse[0], sparse[2], sparse[1], Tensor::Scalar(-1.0f)}));
    EXPECT_EQ(Dims(direct), Dims(dense));
    EXPECT_EQ(Values<float>(direct), Values<float>(dense));
  }
}

}  // namespace
}  // namespace sluice
