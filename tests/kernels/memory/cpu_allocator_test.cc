#include "kernels/memory/cpu_allocator.h"

#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/memory/size_classes.h"

namespace sluice {
namespace {

TEST(SizeClassesTest, EverySizeHasTheSmallestClassThatHoldsIt) {
  for (size_t bytes = 0; bytes <= kMaxSmallBytes; ++bytes) {
    const int size_class = SizeClassOf(bytes);
    ASSERT_GE(SizeOfClass(size_class), bytes);
    if (size_class > 0) {
      ASSERT_LT(SizeOfClass(size_class - 1), bytes);
    }
  }
}

TEST(CpuAllocatorTest, BlocksOfAllSizesAreAlignedAndWritable) {
  Allocator& allocator = CpuAllocator();
  for (const size_t bytes : {0, 1, 64, 65, 1000, 4096, 65535, 65536, 65537, 5000000}) {
    void* const data = allocator.Allocate(bytes, kHostStream);
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kTensorAlignment, 0u);
    std::memset(data, 7, bytes);
    allocator.Free(data, bytes, kHostStream);
  }
}

TEST(CpuAllocatorTest, ABlockJustFreedIsTheNextOneGiven) {
  Allocator& allocator = CpuAllocator();
  void* const first = allocator.Allocate(200, kHostStream);
  allocator.Free(first, 200, kHostStream);
  void* const second = allocator.Allocate(250, kHostStream);  // The same class.
  EXPECT_EQ(second, first);
  allocator.Free(second, 250, kHostStream);
}

TEST(CpuAllocatorTest, WhatOneThreadAllocatesAnotherMayFree) {
  Allocator& allocator = CpuAllocator();
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 2000; ++i) blocks.push_back(allocator.Allocate(300, kHostStream));
    std::thread other([&] {
      for (void* const block : blocks) allocator.Free(block, 300, kHostStream);
    });
    other.join();
  }
  // 20 rounds of 2,000 blocks of 320 bytes live in the memory of little more than one.
  EXPECT_LT(GetCpuAllocatorStats().arena_bytes, size_t{8} << 20);
}

TEST(CpuAllocatorTest, ThreadsDoNotGetEachOthersBlocks) {
  Allocator& allocator = CpuAllocator();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&allocator, t] {
      std::vector<char*> mine;
      for (int i = 0; i < 3000; ++i) {
        auto* const block = static_cast<char*>(allocator.Allocate(128, kHostStream));
        std::memset(block, t, 128);
        mine.push_back(block);
        if (i % 3 == 0) {
          ASSERT_EQ(mine.front()[127], t);
          allocator.Free(mine.front(), 128, kHostStream);
          mine.erase(mine.begin());
        }
      }
      for (char* const block : mine) {
        ASSERT_EQ(block[0], t);
        allocator.Free(block, 128, kHostStream);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sluice
