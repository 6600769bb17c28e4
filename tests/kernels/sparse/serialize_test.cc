// Sparse tensors as strings and variants, and under numbers: what TensorFlow 2.19 gives, and parts that do not belong
// together.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "kernels/device/device.h"
#include "tests/kernels/array/tensors.h"
#include "tests/kernels/sparse/sparse_tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using Tensors = std::vector<Tensor>;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// [[1, 0, 2], [0, 0, 0], [0, 3, 0]]
Tensors Sparse() { return {Indices(2, {0, 0, 0, 2, 2, 1}), Floats({1, 2, 3}), Longs({3, 3})}; }

absl::StatusOr<Tensor> Serialize(const std::string& op, Tensors parts, DType form) {
  return KernelRunner(op).Attr("out_type", form).Run1(std::move(parts));
}

absl::StatusOr<Tensors> Deserialize(Tensor serialized, DType dtype = DType::kFloat) {
  return KernelRunner("DeserializeSparse").Attr("dtype", dtype).Run({std::move(serialized)});
}

class SerializeSparseTest : public ::testing::TestWithParam<DType> {};

TEST_P(SerializeSparseTest, OneComesBack) {
  ASSERT_OK_AND_ASSIGN(const Tensor serialized, Serialize("SerializeSparse", Sparse(), GetParam()));
  EXPECT_THAT(Dims(serialized), ElementsAre(3));
  ASSERT_OK_AND_ASSIGN(const Tensors back, Deserialize(serialized));
  EXPECT_THAT(Values<int64_t>(back[0]), ElementsAre(0, 0, 0, 2, 2, 1));
  EXPECT_THAT(Dims(back[0]), ElementsAre(3, 2));
  EXPECT_THAT(Values<float>(back[1]), ElementsAre(1, 2, 3));
  EXPECT_THAT(Values<int64_t>(back[2]), ElementsAre(3, 3));
}

TEST_P(SerializeSparseTest, RowsComeBack) {
  ASSERT_OK_AND_ASSIGN(const Tensor serialized, Serialize("SerializeManySparse", Sparse(), GetParam()));
  EXPECT_THAT(Dims(serialized), ElementsAre(3, 3));
  ASSERT_OK_AND_ASSIGN(const Tensors back, Deserialize(serialized));
  EXPECT_THAT(Values<int64_t>(back[0]), ElementsAre(0, 0, 0, 2, 2, 1));
  EXPECT_THAT(Values<float>(back[1]), ElementsAre(1, 2, 3));
  EXPECT_THAT(Values<int64_t>(back[2]), ElementsAre(3, 3));
  // Axes of their own, of which each row has all of the others.
  ASSERT_OK_AND_ASSIGN(const Tensor cube, serialized.Reshaped(Shape::Of({3, 1, 3})));
  ASSERT_OK_AND_ASSIGN(const Tensors nested, Deserialize(cube));
  EXPECT_THAT(Values<int64_t>(nested[0]), ElementsAre(0, 0, 0, 0, 0, 2, 2, 0, 1));
  EXPECT_THAT(Values<int64_t>(nested[2]), ElementsAre(3, 1, 3));
}

TEST_P(SerializeSparseTest, ChecksWhatItIsGiven) {
  const DType form = GetParam();
  for (const char* const op : {"SerializeSparse", "SerializeManySparse"}) {
    EXPECT_THAT(Serialize(op, {Longs({0}), Floats({1}), Longs({3})}, form), IsError(ErrorCode::kOpShape)) << op;
    EXPECT_THAT(Serialize(op, {Indices(1, {0}), Matrix(1, 1, {1}), Longs({3})}, form), IsError(ErrorCode::kOpShape));
  }
  const auto many = [form](Tensors parts) { return Serialize("SerializeManySparse", std::move(parts), form); };
  EXPECT_THAT(many({Indices(2, {3, 0}), Floats({1}), Longs({3, 3})}), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(many({Indices(2, {-1, 0}), Floats({1}), Longs({3, 3})}), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(many({Indices(2, {1, 0, 0, 0}), Floats({1, 2}), Longs({3, 3})}), IsError(ErrorCode::kOpValue, "order"));
  EXPECT_THAT(many({Indices(1, {0}), Floats({1}), Longs({3})}), IsError(ErrorCode::kOpShape, "rank"));
  EXPECT_THAT(many({Indices(2, {0, 0}), Floats({1, 2}), Longs({3, 3})}), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(many({Indices(2, {}), Floats({}), Longs({int64_t{1} << 40, 2})}), IsError(ErrorCode::kOutOfMemory));
  EXPECT_THAT(many({Indices(2, {}), Floats({}), Longs({kMax, kMax})}), IsError(ErrorCode::kOpTooLarge));
  // What one holds is looked at when it is read.
  ASSERT_OK_AND_ASSIGN(const Tensor odd,
                       Serialize("SerializeSparse", {Indices(2, {0, 0}), Floats({1, 2}), Longs({3})}, form));
  EXPECT_THAT(Deserialize(odd), IsError(ErrorCode::kOpValue, "entries"));
  ASSERT_OK_AND_ASSIGN(const Tensor good, Serialize("SerializeSparse", Sparse(), form));
  EXPECT_THAT(Deserialize(good, DType::kInt32), IsError(ErrorCode::kOpValue, "int32"));
}

INSTANTIATE_TEST_SUITE_P(Forms, SerializeSparseTest, ::testing::Values(DType::kString, DType::kVariant));

TEST(SerializeSparseBytesTest, AreTensorFlows) {
  const Tensors texts = {Indices(1, {1}), Tensor::Strings({"ab"}), Longs({2})};
  ASSERT_OK_AND_ASSIGN(const Tensor serialized, Serialize("SerializeSparse", texts, DType::kString));
  const absl::Span<const TString> elements = serialized.flat<TString>();
  EXPECT_EQ(absl::BytesToHexString(elements[0].view()), "08091208120208011202080122080100000000000000");
  EXPECT_EQ(absl::BytesToHexString(elements[1].view()), "08071204120208012203026162");
}

TEST(DeserializeSparseTest, SizesAreThoseOfTheLargest) {
  ASSERT_OK_AND_ASSIGN(const Tensor a,
                       Serialize("SerializeSparse", {Indices(1, {4}), Floats({1}), Longs({5})}, DType::kString));
  ASSERT_OK_AND_ASSIGN(const Tensor b,
                       Serialize("SerializeSparse", {Indices(1, {1}), Floats({2}), Longs({2})}, DType::kString));
  std::vector<absl::string_view> all;
  for (const Tensor* const part : {&a, &b}) {
    for (const TString& text : part->flat<TString>()) all.push_back(text.view());
  }
  ASSERT_OK_AND_ASSIGN(const Tensor both, Tensor::Strings(all).Reshaped(Shape::Of({2, 3})));
  ASSERT_OK_AND_ASSIGN(const Tensors back, Deserialize(both));
  EXPECT_THAT(Values<int64_t>(back[0]), ElementsAre(0, 4, 1, 1));
  EXPECT_THAT(Values<int64_t>(back[2]), ElementsAre(2, 5));
  // Cut anywhere, a tensor is an error; but behind its shape, where it is one of zeros.
  const size_t shape_end = 12;
  for (size_t size = 0; size < all[0].size(); ++size) {
    const std::vector<absl::string_view> cut = {all[0].substr(0, size), all[1], all[2]};
    EXPECT_EQ(Deserialize(Tensor::Strings(cut)).ok(), size == shape_end) << size;
  }
  EXPECT_THAT(Deserialize(Tensor::Strings({"", ""})), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(Deserialize(Tensor::Strings({})), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(Deserialize(Tensor::String("")), IsError(ErrorCode::kOpShape));
}

// A runner of `op` whose tensors live in `other`'s device.
KernelRunner Beside(KernelRunner& other, const std::string& op) {
  KernelRunner runner(op);
  runner.run().resources = &other.device().resources();
  runner.Attr("shared_name", "map");
  return runner;
}

TEST(SparseTensorsMapTest, TensorsAreTakenOnce) {
  KernelRunner owner("AddSparseToTensorsMap");
  const auto take = [&owner](Tensor numbers, DType dtype = DType::kFloat) {
    return Beside(owner, "TakeManySparseFromTensorsMap").Attr("dtype", dtype).Run({std::move(numbers)});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor many, Beside(owner, "AddManySparseToTensorsMap").Run1(Sparse()));
  EXPECT_THAT(Values<int64_t>(many), ElementsAre(0, 2, 1)) << "rows without entries come last";
  ASSERT_OK_AND_ASSIGN(const Tensor one, Beside(owner, "AddSparseToTensorsMap").Run1(Sparse()));
  EXPECT_THAT(Values<int64_t>(one), ElementsAre(3));
  ASSERT_OK_AND_ASSIGN(const Tensors rows, take(Longs({1, 0})));
  EXPECT_THAT(Values<int64_t>(rows[0]), ElementsAre(0, 1, 1, 0, 1, 2));
  EXPECT_THAT(Values<float>(rows[1]), ElementsAre(3, 1, 2));
  EXPECT_THAT(Values<int64_t>(rows[2]), ElementsAre(2, 3));
  EXPECT_THAT(take(Longs({1})), IsError(ErrorCode::kOpValue, "sparse_handles"));
  EXPECT_THAT(take(Longs({-7})), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(take(Longs({2, 3})), IsError(ErrorCode::kOpShapes, "rank"));
  EXPECT_THAT(take(Longs({})), IsError(ErrorCode::kOpShape));
  ASSERT_OK_AND_ASSIGN(const Tensor again, Beside(owner, "AddSparseToTensorsMap").Run1(Sparse()));
  EXPECT_THAT(Values<int64_t>(again), ElementsAre(4));
  EXPECT_THAT(take(again, DType::kInt32), IsError(ErrorCode::kOpShape)) << "a scalar";
  EXPECT_THAT(take(Longs({4}), DType::kInt32), IsError(ErrorCode::kOpValue, "int32"));
}

}  // namespace
}  // namespace sluice
