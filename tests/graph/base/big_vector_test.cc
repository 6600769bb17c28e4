#include "graph/base/big_vector.h"

#include <cstdint>
#include <new>
#include <utility>

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(BigVectorTest, HoldsWhatAVectorHoldsWhateverItsSize) {
  BigVector<uint32_t> vector;
  constexpr uint32_t kCount = 3 << 20;  // 12 MiB: on its way it passes from small memory to big.
  for (uint32_t i = 0; i < kCount; ++i) vector.push_back(i);
  const BigVector<uint32_t> copy = vector;
  BigVector<uint32_t> moved = std::move(vector);
  moved.resize(kCount / 2);
  moved.shrink_to_fit();
  for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(copy[i], i);
  for (uint32_t i = 0; i < kCount / 2; ++i) ASSERT_EQ(moved[i], i);
}

TEST(BigVectorTest, LargeOnesBeginAtAHugePage) {
  const BigVector<char> vector(kBigBytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(vector.data()) % (size_t{2} << 20), 0u);
}

TEST(BigVectorTest, ImpossibleSizesThrow) {
  EXPECT_THROW(BigAllocator<uint64_t>().allocate(SIZE_MAX / 4), std::bad_alloc);
}

}  // namespace
}  // namespace sluice
