// Ragged tensors as elements of other tensors, and combinations of ragged features: what TensorFlow 2.19 gives, and
// splits, ranks and types that do not belong together.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Tensors = std::vector<Tensor>;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Tensor Longs(const std::vector<int64_t>& values) { return Tensor::Vector<int64_t>(values); }

absl::StatusOr<Tensor> Encode(Tensors splits, Tensor values, bool in_rows) {
  KernelRunner runner("RaggedTensorToVariant");
  runner.Attr("RAGGED_RANK", static_cast<int64_t>(splits.size())).Attr("batched_input", in_rows);
  splits.push_back(std::move(values));
  return runner.Run1(std::move(splits));
}

absl::StatusOr<Tensors> Decode(Tensor variants, int64_t inner, int64_t rank, DType type = DType::kFloat) {
  return KernelRunner("RaggedTensorFromVariant")
      .Attr("input_ragged_rank", inner)
      .Attr("output_ragged_rank", rank)
      .Attr("Tvalues", type)
      .Attr("Tsplits", DType::kInt64)
      .Run({std::move(variants)});
}

// A tensor of the elements of scalars.
Tensor Stack(const Tensors& scalars, const Shape& shape) {
  Tensor all = Tensor::Make(DType::kVariant, shape).value();
  for (size_t i = 0; i < scalars.size(); ++i) all.flat<Variant>()[i] = scalars[i].flat<Variant>()[0];
  return all;
}

TEST(RaggedVariantTest, RanksNearTheLargestIntegerDoNotAddUp) {
  ASSERT_OK_AND_ASSIGN(const Tensor rows, Encode({Longs({0, 1, 2})}, Counting({2}), true));
  EXPECT_THAT(Decode(rows, kMax, 1).status(), IsError(ErrorCode::kOpValue, "ranks that add up"));
}

TEST(RaggedVariantTest, RowsComeBack) {
  // [[[0], [1, 2]], [], [[3, 4, 5]]]
  ASSERT_OK_AND_ASSIGN(const Tensor rows, Encode({Longs({0, 2, 2, 3}), Longs({0, 1, 3, 6})}, Counting({6}), true));
  EXPECT_THAT(Dims(rows), ElementsAre(3));
  ASSERT_OK_AND_ASSIGN(const Tensors back, Decode(rows, 1, 2));
  EXPECT_THAT(Values<int64_t>(back[0]), ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(Values<int64_t>(back[1]), ElementsAre(0, 1, 3, 6));
  EXPECT_THAT(Values<float>(back[2]), ElementsAre(0, 1, 2, 3, 4, 5));
  ASSERT_OK_AND_ASSIGN(const Tensor last, rows.SliceRows(2, 3).Reshaped(Shape()));
  ASSERT_OK_AND_ASSIGN(const Tensors one, Decode(last, 1, 1));
  EXPECT_THAT(Values<int64_t>(one[0]), ElementsAre(0, 3));
  EXPECT_THAT(Values<float>(one[1]), ElementsAre(3, 4, 5));
  // As one element.
  ASSERT_OK_AND_ASSIGN(const Tensor whole, Encode({Longs({0, 2, 2, 3})}, Counting({3, 2}), false));
  EXPECT_THAT(Dims(whole), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const Tensors same, Decode(whole, -1, 1));
  EXPECT_THAT(Values<int64_t>(same[0]), ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(Dims(same[1]), ElementsAre(3, 2));
}

TEST(RaggedVariantTest, DenseElementsAreStacked) {
  ASSERT_OK_AND_ASSIGN(const Tensor two, Encode({}, Counting({2}), false));
  ASSERT_OK_AND_ASSIGN(const Tensor three, Encode({}, Counting({3}), false));
  ASSERT_OK_AND_ASSIGN(const Tensors rows, Decode(Stack({two, three}, Shape::Of({2})), 0, 1));
  EXPECT_THAT(Values<int64_t>(rows[0]), ElementsAre(0, 2, 5));
  EXPECT_THAT(Values<float>(rows[1]), ElementsAre(0, 1, 0, 1, 2));
  const Tensors six = {two, three, two, two, two, three};
  ASSERT_OK_AND_ASSIGN(const Tensors matrix, Decode(Stack(six, Shape::Of({2, 3})), 0, 2));
  EXPECT_THAT(Values<int64_t>(matrix[0]), ElementsAre(0, 3, 6));
  EXPECT_THAT(Values<int64_t>(matrix[1]), ElementsAre(0, 2, 5, 7, 9, 11, 14));
  // Without ragged axes: equal shapes along a new axis.
  ASSERT_OK_AND_ASSIGN(const Tensors dense, Decode(Stack({three, three}, Shape::Of({2})), -1, 0));
  EXPECT_THAT(Dims(dense[0]), ElementsAre(2, 3));
  EXPECT_THAT(Decode(Stack({two, three}, Shape::Of({2})), -1, 0), IsError(ErrorCode::kOpShapes));
  ASSERT_OK_AND_ASSIGN(const Tensors none, Decode(Stack({}, Shape::Of({0})), 0, 1));
  EXPECT_THAT(Values<int64_t>(none[0]), ElementsAre(0));
  EXPECT_THAT(Dims(none[1]), ElementsAre(0));
}

TEST(RaggedVariantTest, ChecksSplitsRanksAndTypes) {
  for (const Tensor& bad : {Longs({0, 4}), Longs({0, 2}), Longs({1, 3}), Longs({0, -1, 3}), Longs({0, 3, 2, 3}),
                            Longs({0, kMax}), Longs({}), Counting<int64_t>({1, 1})}) {
    for (const bool in_rows : {false, true}) {
      EXPECT_FALSE(Encode({bad}, Counting({3}), in_rows).ok()) << bad.ToString();
    }
  }
  EXPECT_FALSE(Encode({Longs({0, 1}), Longs({0, 9})}, Counting({3}), true).ok());
  EXPECT_THAT(Encode({}, Counting({3}), true), IsError(ErrorCode::kOpAttr));
  EXPECT_FALSE(Encode({Longs({0, 1})}, Tensor::Scalar(1.0f), true).ok());
  ASSERT_OK_AND_ASSIGN(const Tensor rows, Encode({Longs({0, 1, 3})}, Counting({3}), true));
  EXPECT_THAT(Decode(rows, 1, 2), IsError(ErrorCode::kOpValue, "ragged axes"));
  EXPECT_THAT(Decode(rows, 0, 1, DType::kInt32), IsError(ErrorCode::kOpValue, "int32"));
  EXPECT_FALSE(Decode(rows, 0, 0).ok());
  EXPECT_FALSE(Decode(rows, 1, 1).ok());
  EXPECT_THAT(Decode(Tensor::Make(DType::kVariant, Shape::Of({2})).value(), 0, 1),
              IsError(ErrorCode::kOpValue, "no value"));
}

TEST(RaggedVariantTest, SizesThatNoMemoryHolds) {
  // Beside an axis without elements any size may stand.
  const Tensor wide = Tensor::Make(DType::kVariant, Shape::Of({3, int64_t{1} << 40, 0})).value();
  EXPECT_FALSE(Decode(wide, 0, 3).ok());
  ASSERT_OK_AND_ASSIGN(const Tensor tall,
                       Encode({}, Tensor::Make(DType::kFloat, Shape::Of({int64_t{1} << 61, 0})).value(), false));
  EXPECT_FALSE(Decode(Stack({tall, tall, tall, tall, tall}, Shape::Of({5})), 0, 1).ok());
}

absl::StatusOr<Tensor> Gradient(Tensor grads, std::vector<int64_t> splits, std::vector<int32_t> shape) {
  return KernelRunner("RaggedTensorToVariantGradient")
      .Attr("Tvalues", DType::kFloat)
      .Run1({std::move(grads), Longs(splits), Ints(shape)});
}

TEST(RaggedVariantTest, GradientsArePutTogether) {
  ASSERT_OK_AND_ASSIGN(const Tensor two, Encode({}, Counting({2}), false));
  const Tensor rows = Stack({two, Tensor::Make(DType::kVariant, Shape()).value(), two}, Shape::Of({3}));
  ASSERT_OK_AND_ASSIGN(const Tensor dense, Gradient(rows, {0, 2, 3, 5}, {5}));
  EXPECT_THAT(Values<float>(dense), ElementsAre(0, 1, 0, 0, 1)) << "zeros for what is missing";
  EXPECT_THAT(Gradient(rows, {0, 2, 3, 5}, {6}), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(Gradient(rows, {0, 2}, {5}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(Gradient(rows, {0, 2, kMax, kMax}, {5}), IsError(ErrorCode::kOpValue));
  EXPECT_FALSE(Gradient(rows, {0, 2, 3, 5}, {-5}).ok());
  ASSERT_OK_AND_ASSIGN(const Tensor one, Gradient(Stack({two}, Shape::Of({1})), {0, 2}, {7}));
  EXPECT_THAT(Values<float>(one), ElementsAre(0, 1));
}

TEST(RaggedVariantTest, ElementsAddUp) {
  ASSERT_OK_AND_ASSIGN(const Tensor a, Encode({Longs({0, 1, 3})}, Counting({3}), false));
  ASSERT_OK_AND_ASSIGN(const Tensor b, Encode({Longs({0, 2, 3})}, Counting({3}), false));
  ASSERT_OK_AND_ASSIGN(const Tensor sum, KernelRunner("AddN").Run1({a, a}));
  ASSERT_OK_AND_ASSIGN(const Tensors back, Decode(sum, 1, 1));
  EXPECT_THAT(Values<float>(back[1]), ElementsAre(0, 2, 4));
  EXPECT_FALSE(KernelRunner("AddN").Run1({a, b}).ok());
  ASSERT_OK_AND_ASSIGN(const Tensor zeros, KernelRunner("ZerosLike").Run1({a}));
  ASSERT_OK_AND_ASSIGN(const Tensors of_zeros, Decode(zeros, 1, 1));
  EXPECT_THAT(Values<int64_t>(of_zeros[0]), ElementsAre(0, 1, 3));
  EXPECT_THAT(Values<float>(of_zeros[1]), ElementsAre(0, 0, 0));
}

// --- RaggedCross --------------------------------------------------------------------------------------------------

// A ragged feature of texts and a dense one of numbers.
absl::StatusOr<Tensors> Cross(Tensor values, Tensor splits, Tensor dense, bool is_hashed,
                              const std::string& order = "RD") {
  const std::vector<DType> texts = {DType::kString}, longs = {DType::kInt64};
  return KernelRunner("RaggedCross")
      .Attr("Nsparse", 0)
      .Attr("input_order", order)
      .Attr("hashed_output", is_hashed)
      .Attr("num_buckets", 100)
      .Attr("hash_key", 956888297470)
      .Attr("ragged_values_types", texts)
      .Attr("ragged_splits_types", longs)
      .Attr("sparse_values_types", std::vector<DType>())
      .Attr("dense_types", longs)
      .Attr("out_values_type", is_hashed ? DType::kInt64 : DType::kString)
      .Attr("out_row_splits_type", DType::kInt64)
      .Run({std::move(values), std::move(splits), std::move(dense)});
}

TEST(RaggedCrossTest, LastColumnRunsFastest) {
  const Tensor texts = Tensor::Strings({"a", "b", "c"}), dense = Counting<int64_t>({3, 2});
  ASSERT_OK_AND_ASSIGN(const Tensors crosses, Cross(texts, Longs({0, 2, 2, 3}), dense, false));
  std::vector<std::string> found;
  for (const TString& text : crosses[0].flat<TString>()) found.emplace_back(text.view());
  EXPECT_THAT(found, ElementsAre("a_X_0", "a_X_1", "b_X_0", "b_X_1", "c_X_4", "c_X_5"));
  EXPECT_THAT(Values<int64_t>(crosses[1]), ElementsAre(0, 4, 4, 6));
  ASSERT_OK_AND_ASSIGN(const Tensors hashes, Cross(texts, Longs({0, 2, 2, 3}), dense, true));
  for (const int64_t hash : hashes[0].flat<int64_t>()) EXPECT_TRUE(hash >= 0 && hash < 100);
  EXPECT_THAT(Values<int64_t>(hashes[1]), ElementsAre(0, 4, 4, 6));
}

// Lists that belong together are as long as each other: their lengths are attrs that a file may set as it likes.
TEST(RaggedCrossTest, ListsThatBelongTogetherAreEquallyLong) {
  const auto cross = [](const std::vector<DType>& values, const std::vector<DType>& splits, int sparse,
                        const std::vector<DType>& sparse_values, const std::string& order, Tensors inputs) {
    return KernelRunner("RaggedCross")
        .Attr("Nsparse", sparse)
        .Attr("input_order", order)
        .Attr("hashed_output", true)
        .Attr("num_buckets", 100)
        .Attr("hash_key", 1)
        .Attr("ragged_values_types", values)
        .Attr("ragged_splits_types", splits)
        .Attr("sparse_values_types", sparse_values)
        .Attr("dense_types", std::vector<DType>())
        .Attr("out_values_type", DType::kInt64)
        .Attr("out_row_splits_type", DType::kInt64)
        .Run(std::move(inputs))
        .status();
  };
  const std::vector<DType> one = {DType::kInt64}, two = {DType::kInt64, DType::kInt64}, none;
  EXPECT_THAT(cross(two, one, 0, none, "RR", {Longs({1}), Longs({2}), Longs({0, 1})}), IsError(ErrorCode::kOpAttr));
  EXPECT_THAT(
      cross(two, one, 1, one, "RRS",
            {Longs({1}), Longs({2}), Longs({0, 1}), Counting<int64_t>({3, 2}), Longs({1, 2, 3}), Longs({1, 9})}),
      IsError(ErrorCode::kOpAttr));
  EXPECT_THAT(cross(none, none, 1, two, "SS", {Counting<int64_t>({1, 2}), Longs({1}), Longs({2}), Longs({1, 9})}),
              IsError(ErrorCode::kOpAttr));
}

TEST(RaggedCrossTest, ChecksWhatItIsGiven) {
  const Tensor texts = Tensor::Strings({"a", "b", "c"}), dense = Counting<int64_t>({3, 2});
  EXPECT_THAT(Cross(texts, Longs({0, 3}), dense, true), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(Cross(texts, Longs({0, 2, 9, 9}), dense, true), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(Cross(texts, Longs({0, 2, 1, 3}), dense, true), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(Cross(texts, Longs({}), dense, true), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(Cross(texts, Longs({0, 2, 2, 3}), Counting<int64_t>({3}), true), IsError(ErrorCode::kOpShape));
  for (const char* const order : {"R", "RDD", "RX", "DRR"}) {
    EXPECT_THAT(Cross(texts, Longs({0, 2, 2, 3}), dense, true, order), IsError(ErrorCode::kOpAttr)) << order;
  }
}

}  // namespace
}  // namespace sluice
