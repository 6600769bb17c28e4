#include "kernels/state/value_pile.h"

#include <cstdint>
#include <string>
#include <vector>

#include "graph/base/error.h"
#include "graph/value/allocator.h"
#include "graph/value/counted.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "kernels/state/handles.h"
#include "kernels/state/stack.h"
#include "tests/testing/counting_allocator.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

Tensor Floats(int64_t count, float first) {
  std::vector<float> values(static_cast<size_t>(count), first);
  return Tensor::Vector<float>(values);
}

class ValuePileTest : public ::testing::Test {
 protected:
  void Push(const Tensor& value) { ASSERT_OK(rows_.Push(value, memory_)); }
  // Pops a value and expects it to be this one.
  void ExpectPop(const Tensor& expected) {
    ASSERT_OK_AND_ASSIGN(const Tensor found, rows_.Pop(memory_));
    ASSERT_EQ(found.dtype(), expected.dtype());
    ASSERT_EQ(found.shape(), expected.shape());
    if (found.dtype() == DType::kString) {
      EXPECT_EQ(found.flat<TString>()[0].view(), expected.flat<TString>()[0].view());
    } else {
      EXPECT_EQ(found.bytes(), expected.bytes());
    }
  }
  int64_t Bytes() const { return memory_.live_bytes(); }

  TrackingAllocator memory_{HostAllocator()};
  ValuePile rows_;
};

TEST_F(ValuePileTest, GivesBackAllKindsOfValuesInReverse) {
  std::vector<Tensor> values;
  for (int i = 0; i < 300; ++i) {
    values.push_back(Tensor::Scalar(static_cast<float>(i)));
    if (i % 7 == 0) values.push_back(Tensor::Scalar(i));
    if (i % 11 == 0) values.push_back(Tensor::String(std::string(static_cast<size_t>(i), 'x')));
    if (i % 13 == 0) values.push_back(Floats(i, 0.5f));
    if (i % 17 == 0) values.push_back(Tensor::Of<int32_t>(Shape::Of({1, 1, 2, 1, 1}), {i, -i}));
  }
  for (int round = 0; round < 2; ++round) {
    for (const Tensor& value : values) Push(value);
    EXPECT_EQ(rows_.size(), static_cast<int64_t>(values.size()));
    for (auto value = values.rbegin(); value != values.rend(); ++value) ExpectPop(*value);
    EXPECT_EQ(rows_.size(), 0);
  }
}

TEST_F(ValuePileTest, OnlyScalarsOfTheDtypeAskedForComeOffTheShortWay) {
  Push(Tensor::Scalar(1.5f));
  Push(Floats(1, 2.5f));
  Push(Tensor::Scalar(3.5));
  Push(Tensor::String("text"));
  float number = 0;
  double wide = 0;
  EXPECT_FALSE(rows_.PopScalar(DType::kString, sizeof(TString), &wide));
  ExpectPop(Tensor::String("text"));
  EXPECT_FALSE(rows_.PopScalar(DType::kFloat, sizeof(number), &number));
  EXPECT_TRUE(rows_.PopScalar(DType::kDouble, sizeof(wide), &wide));
  EXPECT_EQ(wide, 3.5);
  EXPECT_FALSE(rows_.PopScalar(DType::kFloat, sizeof(number), &number));  // A vector of one.
  ExpectPop(Floats(1, 2.5f));
  EXPECT_TRUE(rows_.PopScalar(DType::kFloat, sizeof(number), &number));
  EXPECT_EQ(number, 1.5f);
  EXPECT_EQ(rows_.size(), 0);
}

TEST_F(ValuePileTest, ALoneValueOfAnotherShapeDoesNotEndItsNeighboursRows) {
  for (int i = 0; i < 100; ++i) Push(Tensor::Scalar(1.0f));
  int64_t before = Bytes();
  while (Bytes() == before) Push(Tensor::Scalar(1.0f));  // Until there is a new segment, with room for 25.
  before = Bytes();
  for (int i = 0; i < 10; ++i) {
    Push(Tensor::Scalar(2));
    ExpectPop(Tensor::Scalar(2));
    Push(Tensor::Scalar(1.0f));
  }
  EXPECT_EQ(Bytes(), before);
}

TEST_F(ValuePileTest, PushesAndPopsMayTakeTurns) {
  for (int i = 0; i < 1000; ++i) {
    Push(Tensor::Scalar(i));
    Push(i % 3 == 0 ? Floats(2, 7) : Tensor::Scalar(-i));
    ExpectPop(i % 3 == 0 ? Floats(2, 7) : Tensor::Scalar(-i));
  }
  for (int i = 999; i >= 0; --i) ExpectPop(Tensor::Scalar(i));
  rows_.Clear();
  EXPECT_EQ(Bytes(), 0);
}

// Popped values free their memory at once.
TEST_F(ValuePileTest, ValuesOfOneShapeTakeAQuarterMoreThanTheirBytes) {
  for (const int64_t elements : {1, 3, 100, 256}) {
    constexpr int64_t kCount = 20000;
    const int64_t needed = kCount * elements * 4;
    for (int64_t i = 0; i < kCount; ++i) Push(Floats(elements, static_cast<float>(i)));
    EXPECT_LE(Bytes(), needed + needed / 4 + 8192) << elements;
    for (int64_t i = kCount; i-- > kCount / 10;) ExpectPop(Floats(elements, static_cast<float>(i)));
    EXPECT_LE(Bytes(), needed / 5) << elements;
    rows_.Clear();
    EXPECT_EQ(Bytes(), 0);
  }
}

TEST_F(ValuePileTest, OtherShapesAndKindsCostAtMost96BytesAValue) {
  constexpr int64_t kCount = 2000;
  int64_t needed = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    needed += i % 23 * 4;
    Push(Floats(i % 23, 1));
    Push(Tensor::String("text"));
    if (i % 3 == 0) Push(Tensor::String("more text"));
  }
  const int64_t count = rows_.size();
  EXPECT_LE(Bytes(), needed + needed / 2 + 96 * count);
}

// A large value is held as it is, and one in a device's memory is not touched.
TEST_F(ValuePileTest, LargeValuesAndThoseOfDevicesAreNotCopied) {
  const Tensor large = Floats(ValuePile::kMaxRowBytes, 2);
  CountingAllocator device(/*host_memory=*/false);
  ASSERT_OK_AND_ASSIGN(const Tensor remote, Tensor::Make(DType::kFloat, Shape::Of({8}), device));
  ASSERT_OK(rows_.Push(large, device));
  ASSERT_OK(rows_.Push(remote, device));
  EXPECT_EQ(device.allocations(), 1) << "of the value alone";
  ASSERT_OK_AND_ASSIGN(const Tensor first, rows_.Pop(device));
  EXPECT_TRUE(first.SharesBufferWith(remote));
  ASSERT_OK_AND_ASSIGN(const Tensor second, rows_.Pop(device));
  EXPECT_TRUE(second.SharesBufferWith(large));
}

TEST_F(ValuePileTest, WithoutMemoryNothingChanges) {
  CountingAllocator none;
  ASSERT_OK(rows_.Push(Floats(5, 1), none));
  none.set_limit(0);
  EXPECT_THAT(rows_.Push(Floats(6, 2), none), IsError(ErrorCode::kOutOfMemory));
  EXPECT_THAT(rows_.Pop(none), IsError(ErrorCode::kOutOfMemory));
  EXPECT_EQ(rows_.size(), 1);
  ExpectPop(Floats(5, 1));
  rows_.Clear();
  EXPECT_EQ(none.live(), 0);
}

// A stack in a stack, and so on, as a loop may leave it: all end, one after the other.
TEST(StackChainTest, EndsWithoutRecursion) {
  CountedPtr<Stack> last;
  for (int i = 0; i < 200'000; ++i) {
    CountedPtr<Stack> next = MakeCounted<Stack>("stack", DType::kResource, -1);
    if (last) {
      ResourceHandleData data;
      data.resource = std::move(last);
      ASSERT_OK(next->Push(HandleTensor(std::move(data)), HostAllocator()));
    }
    last = std::move(next);
  }
}

}  // namespace
}  // namespace sluice
