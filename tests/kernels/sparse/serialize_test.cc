// Sparse tensors as strings and variants, and under numbers: what TensorFlow 2.19 gives, and parts that do not belong
// together.

#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "graph/value/shape_proto.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "graph/wire/wire_writer.h"
#include "gtest/gtest.h"
#include "kernels/device/device.h"
#include "kernels/memory/tracking_allocator.h"
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
  // As many rows as the run has memory for.
  TrackingAllocator allocator(HostAllocator(), int64_t{1} << 29);
  KernelRunner limited("SerializeManySparse");
  limited.Attr("out_type", form).run().allocator = &allocator;
  EXPECT_THAT(limited.Run1({Indices(2, {}), Floats({}), Longs({1 << 25, 2})}), IsError(ErrorCode::kOutOfMemory));
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

// The bytes of a TensorProto with sizes, and no values: zeros.
std::string Zeros(DType dtype, const std::vector<int64_t>& sizes) {
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Int(1, static_cast<int64_t>(dtype));
  const size_t shape = writer.BeginMessage(2);
  WriteShapeProto(Shape::Make(sizes).value(), &writer);
  writer.EndMessage(shape);
  return bytes;
}

// `count` sparse tensors of zeros with `entries` entries each, in a few bytes.
Tensor Claims(int64_t count, int64_t entries) {
  const std::string indices = Zeros(DType::kInt64, {entries, 1}), values = Zeros(DType::kFloat, {entries}),
                    shape = Zeros(DType::kInt64, {1});
  std::vector<absl::string_view> texts;
  for (int64_t i = 0; i < count; ++i) texts.insert(texts.end(), {indices, values, shape});
  return Tensor::Strings(texts).Reshaped(Shape::Of({count, 3})).value();
}

TEST(DeserializeSparseTest, ClaimsAreAddedUp) {
  for (const char* const op : {"DeserializeSparse", "DeserializeManySparse"}) {
    TrackingAllocator allocator(HostAllocator(), 1 << 20);
    KernelRunner small(op);
    small.Attr("dtype", DType::kFloat).run().allocator = &allocator;
    EXPECT_OK(small.Run({Claims(4, 10000)}).status());
    EXPECT_THAT(small.Run({Claims(1, 100000)}), IsError(ErrorCode::kOutOfMemory, "1200008 bytes"));
    EXPECT_THAT(small.Run({Claims(12, 8000)}), IsError(ErrorCode::kOutOfMemory, "1152096 bytes"));
    // Each of them is below the limit of one tensor; without another limit, that is also the limit of all.
    EXPECT_THAT(KernelRunner(op).Attr("dtype", DType::kFloat).Run({Claims(1000, int64_t{1} << 28)}),
                IsError(ErrorCode::kOutOfMemory, "or more"));
  }
}

TEST(SerializeManySparseTest, EmptyRowsShareWhatTheyHold) {
  constexpr int64_t kRows = 1000000;
  const int64_t before = VariantObject::LiveCount();
  ASSERT_OK_AND_ASSIGN(
      const Tensor many,
      Serialize("SerializeManySparse", {Indices(2, {7, 1}), Floats({1}), Longs({kRows, 2})}, DType::kVariant));
  EXPECT_EQ(VariantObject::LiveCount() - before, 6);
  ASSERT_OK_AND_ASSIGN(const Tensors back, Deserialize(many));
  EXPECT_THAT(Values<int64_t>(back[0]), ElementsAre(7, 1));
  EXPECT_THAT(Values<int64_t>(back[2]), ElementsAre(kRows, 2));
  // Reading them takes memory of the run.
  TrackingAllocator allocator(HostAllocator(), 16 << 20);
  KernelRunner small("DeserializeSparse");
  small.Attr("dtype", DType::kFloat).run().allocator = &allocator;
  EXPECT_THROW((void)small.Run({many}), std::bad_alloc) << "executors make RESOURCE_EXHAUSTED of it";
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

TEST(SparseTensorsMapTest, MemoryForRowsIsThatOfTheRun) {
  const auto keep = [](Allocator& allocator, int64_t rows) {
    KernelRunner runner("AddManySparseToTensorsMap");
    runner.run().allocator = &allocator;
    try {
      return runner.Run({Indices(2, {7, 1}), Floats({1}), Longs({rows, 2})}).status();
    } catch (const std::bad_alloc&) {  // What executors make of it.
      return absl::ResourceExhaustedError("");
    }
  };
  TrackingAllocator small(HostAllocator(), 1 << 20), large(HostAllocator(), 64 << 20);
  EXPECT_OK(keep(small, 10000));
  EXPECT_THAT(keep(small, 100000), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_OK(keep(large, 1000000));
  EXPECT_GE(large.peak_bytes(), 1000000 * 3 * 8) << "number, tensor and place of each";
  EXPECT_EQ(large.live_bytes(), 0);
}

}  // namespace
}  // namespace sluice
