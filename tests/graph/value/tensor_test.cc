#include "graph/value/tensor.h"

#include <utility>
#include <vector>

#include "graph/value/resource_handle.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_allocator.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(TensorTest, ADefaultTensorHasNoValue) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.has_value());
  EXPECT_EQ(tensor.dtype(), DType::kInvalid);
  EXPECT_EQ(tensor.ToString(), "no value");
}

// Memory that only a device reaches. Never asked for any here.
class DeviceMemory : public Allocator {
 public:
  absl::string_view name() const override { return "device"; }
  bool IsHostMemory() const override { return false; }
  void* Allocate(size_t, StreamTag) override { return nullptr; }
  void Free(void*, size_t, StreamTag) override {}
};

TEST(TensorTest, ObjectsAndZerosNeedHostMemory) {
  DeviceMemory memory;
  for (const DType dtype : {DType::kString, DType::kResource, DType::kVariant}) {
    EXPECT_THAT(Tensor::Make(dtype, Shape::Of({2}), memory).status(), IsError(ErrorCode::kWrongUse, "device"));
  }
  EXPECT_THAT(Tensor::MakeZeros(DType::kFloat, Shape::Of({2}), memory).status(), IsError(ErrorCode::kWrongUse));
  EXPECT_THAT(Tensor::Make(DType::kFloat, Shape::Of({100}), memory).status(), IsError(ErrorCode::kOutOfMemory));
}

TEST(TensorTest, SmallPlainTensorsAllocateNothing) {
  CountingAllocator allocator;
  const int64_t live = HostAllocatorLiveBytes();
  const int64_t before = LiveNewBytes();
  ResetPeakNewBytes();
  const Tensor scalar = Tensor::Scalar(2.5f);
  Tensor copy = scalar;
  const Tensor moved = std::move(copy);
  const Tensor four = *Tensor::Make(DType::kFloat, Shape::Of({2, 2}), allocator);
  const Tensor empty = *Tensor::Make(DType::kString, Shape::Of({0, 7}), allocator);
  EXPECT_EQ(PeakNewBytes(), before);  // Operator new was not called.
  EXPECT_EQ(allocator.allocations(), 0);
  EXPECT_EQ(HostAllocatorLiveBytes(), live);
  EXPECT_TRUE(four.IsInline() && empty.IsInline() && moved.IsUniquelyOwned());
  EXPECT_EQ(moved.flat<float>()[0], 2.5f);
}

TEST(TensorTest, LargerTensorsAllocateOnce) {
  CountingAllocator allocator;
  const int64_t before = LiveNewBytes();
  ResetPeakNewBytes();
  {
    const Tensor tensor = *Tensor::Make(DType::kFloat, Shape::Of({4, 3, 2, 5}), allocator);
    const Tensor copy = tensor;
    EXPECT_EQ(allocator.allocations(), 1);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw_data()) % kTensorAlignment, 0u);
    EXPECT_TRUE(copy.SharesBufferWith(tensor));
    EXPECT_FALSE(tensor.IsUniquelyOwned());
  }
  EXPECT_EQ(PeakNewBytes(), before);  // Operator new was not called.
  EXPECT_EQ(allocator.live(), 0);
}

TEST(TensorTest, DeviceMemoryIsNeverInlineNorBesideItsHeader) {
  CountingAllocator allocator(/*host_memory=*/false);
  {
    const Tensor scalar = *Tensor::Make(DType::kFloat, Shape(), allocator, /*stream=*/3);
    EXPECT_FALSE(scalar.IsInline());
    EXPECT_EQ(scalar.raw_data(), allocator.last());
    EXPECT_EQ(scalar.buffer()->stream(), 3u);
    EXPECT_EQ(scalar.ToString(), "float32 [] on counting");
  }
  EXPECT_EQ(allocator.live(), 0);
}

TEST(TensorTest, ShortMemoryIsAnErrorThatNamesTheSize) {
  CountingAllocator allocator;
  allocator.set_limit(100);
  EXPECT_THAT(Tensor::Make(DType::kDouble, Shape::Of({64}), allocator),
              StatusIs(absl::StatusCode::kResourceExhausted, "64 x 8 bytes of float64 [64]"));
  EXPECT_THAT(Tensor::Make(DType::kComplex128, Shape::Of({int64_t{1} << 60}), allocator),
              IsError(ErrorCode::kOutOfMemory));
  EXPECT_THAT(Tensor::Make(DType::kInt4, Shape()), IsError(ErrorCode::kTensorDType, "int4"));
  EXPECT_THAT(Tensor::Make(RefType(DType::kFloat), Shape()), IsError(ErrorCode::kTensorDType));
  EXPECT_THAT(Tensor::Make(DType::kInvalid, Shape()), IsError(ErrorCode::kTensorDType));
}

TEST(TensorTest, MovingLeavesNoValueBehind) {
  Tensor a = Tensor::Vector<int64_t>({1, 2, 3, 4});
  Tensor b = std::move(a);
  EXPECT_FALSE(a.has_value());  // NOLINT: said in the header.
  EXPECT_TRUE(b.IsUniquelyOwned());
  a = b;
  EXPECT_FALSE(b.IsUniquelyOwned());
  b = Tensor::Scalar(true);
  EXPECT_TRUE(a.IsUniquelyOwned());
  EXPECT_EQ(b.flat<bool>().size(), 1u);
  Tensor& self = a;
  a = self;
  EXPECT_EQ(a.flat<int64_t>()[3], 4);
}

TEST(TensorTest, StringElementsAreDestroyedWithTheirBuffer) {
  const int64_t live = HostAllocatorLiveBytes();
  {
    Tensor tensor = *Tensor::Make(DType::kString, Shape::Of({2, 2}));
    EXPECT_EQ(tensor.flat<TString>()[3].view(), "");
    tensor.flat<TString>()[0] = "a string that is longer than the element (found by the leak checker)";
    const Tensor scalar = Tensor::String("x");
    EXPECT_EQ(scalar.rank(), 0);
    EXPECT_EQ(scalar.flat<TString>()[0].view(), "x");
    const Tensor pair = Tensor::Strings({"a", "b"});
    EXPECT_EQ(pair.ToString(), "string [2] {'a', 'b'}");
  }
  EXPECT_EQ(HostAllocatorLiveBytes(), live);
}

TEST(TensorTest, WrappedMemoryIsReleasedOnce) {
  alignas(64) float values[6] = {1, 2, 3, 4, 5, 6};
  int released = 0;
  {
    const Tensor tensor = *Tensor::Wrap(DType::kFloat, Shape::Of({2, 3}), values, sizeof(values), [&] { ++released; });
    EXPECT_EQ(tensor.raw_data(), values);
    const Tensor copy = tensor;
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  const Tensor constant = *Tensor::Wrap(DType::kFloat, Shape::Of({6}), values, sizeof(values), nullptr, true);
  EXPECT_FALSE(constant.IsUniquelyOwned());
}

TEST(TensorTest, WrongWrapsReleaseAndSayBothSizes) {
  float values[4] = {};
  int released = 0;
  const auto release = [&] { ++released; };
  EXPECT_THAT(Tensor::Wrap(DType::kFloat, Shape::Of({5}), values, sizeof(values), release),
              StatusIs(absl::StatusCode::kInvalidArgument, "16 bytes"));
  EXPECT_THAT(Tensor::Wrap(DType::kString, Shape(), values, 24, release), IsError(ErrorCode::kTensorKind));
  EXPECT_THAT(Tensor::Wrap(DType::kUInt4, Shape(), values, 1, release), IsError(ErrorCode::kTensorDType));
  EXPECT_THAT(Tensor::Wrap(DType::kFloat, Shape::Of({4}), reinterpret_cast<char*>(values) + 1, 16, release),
              IsError(ErrorCode::kTensorKind, "misaligned"));
  EXPECT_EQ(released, 4);
}

TEST(TensorTest, FromBufferChecksThePart) {
  Buffer* const buffer = Buffer::New(DType::kFloat, 8, HostAllocator());
  buffer->Ref();
  ASSERT_OK_AND_ASSIGN(Tensor part, Tensor::FromBuffer(DType::kFloat, Shape::Of({2}), buffer, 24));
  EXPECT_EQ(part.raw_data(), static_cast<char*>(buffer->data()) + 24);
  for (const size_t offset : {size_t{28}, size_t{40}, ~size_t{0}, size_t{2}}) {
    buffer->Ref();
    EXPECT_FALSE(Tensor::FromBuffer(DType::kFloat, Shape::Of({2}), buffer, offset).ok()) << offset;
  }
  buffer->Ref();
  EXPECT_THAT(Tensor::FromBuffer(DType::kString, Shape::Of({1}), buffer, 0), IsError(ErrorCode::kTensorKind));
  part = Tensor();
  EXPECT_TRUE(buffer->RefCountIsOne());
  buffer->Unref();
}

TEST(TensorTest, SlicesShareAndDeepCopiesDoNot) {
  const Tensor tensor = Tensor::Of<int32_t>(Shape::Of({3, 2}), {0, 1, 2, 3, 4, 5});
  const Tensor rows = tensor.SliceRows(1, 3);
  EXPECT_EQ(rows.shape(), Shape::Of({2, 2}));
  EXPECT_TRUE(rows.SharesBufferWith(tensor));
  EXPECT_EQ(rows.flat<int32_t>()[0], 2);
  ASSERT_OK_AND_ASSIGN(const Tensor copy, rows.DeepCopy());
  EXPECT_TRUE(copy.IsUniquelyOwned());
  EXPECT_EQ(copy.flat<int32_t>()[3], 5);
  const Tensor small = Tensor::Vector<int16_t>({7, 8, 9});
  EXPECT_EQ(small.SliceRows(2, 3).flat<int16_t>()[0], 9);
  EXPECT_EQ(small.SliceRows(3, 3).num_elements(), 0);
}

TEST(TensorTest, ReshapingKeepsTheElements) {
  const Tensor tensor = Tensor::Of<int32_t>(Shape::Of({3, 2}), {0, 1, 2, 3, 4, 5});
  ASSERT_OK_AND_ASSIGN(const Tensor flat, tensor.Reshaped(Shape::Of({6, 1, 1, 1, 1})));
  EXPECT_TRUE(flat.SharesBufferWith(tensor));
  EXPECT_EQ(flat.flat<int32_t>()[5], 5);
  EXPECT_THAT(tensor.Reshaped(Shape::Of({5})), IsError(ErrorCode::kShapeMismatch));
}

TEST(TensorTest, ScalarsAreReadWithTheirType) {
  EXPECT_EQ(*Tensor::Scalar<int64_t>(5).AsScalar<int64_t>(), 5);
  EXPECT_THAT(Tensor::Scalar<int64_t>(5).AsScalar<int32_t>(), StatusIs(absl::StatusCode::kInvalidArgument, "int32"));
  EXPECT_THAT(Tensor::Vector<int32_t>({1, 2}).AsScalar<int32_t>(), IsError(ErrorCode::kShapeRank));
}

TEST(TensorTest, EveryDTypeIsMadeZeroedCopiedAndShown) {
  for (int number = 1; number <= 23; ++number) {
    const DType dtype = DTypeFromNumber(number);
    ASSERT_OK_AND_ASSIGN(const Tensor zeros, Tensor::MakeZeros(dtype, Shape::Of({3, 3})));
    ASSERT_OK_AND_ASSIGN(const Tensor copy, zeros.DeepCopy());
    EXPECT_EQ(copy.total_bytes(), 9 * DTypeSize(dtype));
    EXPECT_EQ(copy.bytes(), std::string(copy.total_bytes(), '\0'));
    EXPECT_EQ(copy.ToString().substr(0, DTypeName(dtype).size()), DTypeName(dtype));
  }
  EXPECT_EQ(Tensor::Vector<int8_t>({65, -1, 2}).ToString(2), "int8 [3] {65, -1, ...}");
  EXPECT_EQ(Tensor::Vector<bool>({true, false}).ToString(), "bool [2] {true, false}");
  EXPECT_EQ(Tensor::Scalar(BFloat16(1.5f)).ToString(), "bfloat16 [] {1.5}");
}

// --- Strings in memory of the caller
// ----------------------------------------------------------------------------------

TEST(WrapStringsTest, LooksAtTheCallersTextUntilTheLastTensorIsGone) {
  const std::string text(100, 'a'), other(50, 'b');
  int released = 0;
  Tensor element;
  std::string copied;
  {
    ASSERT_OK_AND_ASSIGN(Tensor strings,
                         Tensor::WrapStrings(Shape::Of({2, 2}), {text, "short", "", other}, [&] { ++released; }));
    EXPECT_EQ(strings.ToString().substr(0, 12), "string [2,2]");
    const absl::Span<const TString> elements = absl::Span<const TString>(strings.flat<TString>());
    EXPECT_EQ(elements[0].data(), text.data()) << "not copied";
    EXPECT_EQ(elements[1].view(), "short");
    EXPECT_EQ(elements[2].view(), "");
    EXPECT_EQ(elements[3].data(), other.data());
    EXPECT_FALSE(strings.IsUniquelyOwned()) << "nothing is written in place";
    element = strings.SliceRows(1, 2);
    const TString copy = elements[0];
    EXPECT_NE(copy.data(), text.data());
    copied = std::string(copy.view());
  }
  EXPECT_EQ(released, 0) << "a part of it is alive";
  EXPECT_EQ(element.flat<TString>()[1].view(), other);
  ASSERT_OK_AND_ASSIGN(const Tensor own, element.DeepCopy());
  element = Tensor();
  EXPECT_EQ(released, 1);
  EXPECT_EQ(own.flat<TString>()[1].view(), other);
  EXPECT_NE(own.flat<TString>()[1].data(), other.data());
  EXPECT_EQ(copied, text);
}

TEST(WrapStringsTest, ReleasesOnceHoweverItEnds) {
  int released = 0;
  const auto release = [&] { ++released; };
  EXPECT_THAT(Tensor::WrapStrings(Shape::Of({3}), {"a", "b"}, release), IsError(ErrorCode::kTensorContent, "3"));
  EXPECT_EQ(released, 1);
  ASSERT_OK_AND_ASSIGN(const Tensor none, Tensor::WrapStrings(Shape::Of({0, 5}), {}, release));
  EXPECT_EQ(none.shape(), Shape::Of({0, 5}));
  EXPECT_EQ(released, 2) << "there is nothing to look at";
  {
    ASSERT_OK_AND_ASSIGN(const Tensor scalar, Tensor::WrapStrings(Shape(), {"short"}, release));
    const Tensor shared = scalar;
    EXPECT_EQ(released, 2);
  }
  EXPECT_EQ(released, 3);
  EXPECT_OK(Tensor::WrapStrings(Shape(), {"no release"}, nullptr));
}

TEST(WrapStringsTest, ElementsThatAreWrittenOwnTheirText) {
  std::string text(100, 'a');
  TString view = TString::ViewOf(text);
  EXPECT_EQ(view.data(), text.data());
  EXPECT_EQ(view.size(), 100u);
  EXPECT_EQ(view.capacity(), 0u);
  view.append("b");
  EXPECT_NE(view.data(), text.data());
  EXPECT_EQ(view.view(), text + "b");
  view = TString::ViewOf(text);
  view.mutable_data()[0] = 'c';
  EXPECT_EQ(text[0], 'a');
  TString small = TString::ViewOf("at most 22 characters!");
  EXPECT_EQ(small.capacity(), TString::kSmallCapacity);
}

}  // namespace
}  // namespace sluice
