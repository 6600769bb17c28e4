#include "tests/testing/guard_allocator.h"

#include <cstring>

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(GuardAllocatorTest, BlocksCanBeUsedUpToTheirEnd) {
  GuardAllocator allocator;
  for (const size_t bytes : {0, 1, 63, 64, 65, 4096, 100'000}) {
    void* const block = allocator.Allocate(bytes, kHostStream);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kTensorAlignment, 0u);
    std::memset(block, 0, bytes);
    allocator.Free(block, bytes, kHostStream);
  }
}

TEST(GuardAllocatorDeathTest, UseBeyondTheEndOrAfterwardsEndsTheProcess) {
  GuardAllocator allocator;
  auto* const block = static_cast<volatile char*>(allocator.Allocate(128, kHostStream));
  EXPECT_DEATH(block[128] = 1, "");
  EXPECT_DEATH((void)(block[128] == 1), "");
  auto* const odd = static_cast<volatile char*>(allocator.Allocate(100, kHostStream));
  EXPECT_DEATH(
      {
        odd[100] = 1;
        allocator.Free(const_cast<char*>(odd), 100, kHostStream);
      },
      "beyond the end");
  allocator.Free(const_cast<char*>(block), 128, kHostStream);
  EXPECT_DEATH(block[0] = 1, "");
  allocator.Free(const_cast<char*>(odd), 100, kHostStream);
}

}  // namespace
}  // namespace sluice
