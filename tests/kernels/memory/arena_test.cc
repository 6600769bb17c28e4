#include "kernels/memory/arena.h"

#include <sys/resource.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include <cstring>
#include <fstream>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"

namespace sluice {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(ArenaTest, BlocksAreAlignedAndApart) {
  Arena arena(2 * kMiB);
  void* const a = arena.Allocate(100 * 1000);
  void* const b = arena.Allocate(1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b) % 64, 0u);
  EXPECT_GE(static_cast<char*>(b), static_cast<char*>(a) + 100 * 1000);
  std::memset(a, 1, 100 * 1000);
  arena.Free(a);
  arena.Free(b);
  EXPECT_EQ(arena.stats().live_bytes, 0u);
}

#ifdef __SANITIZE_ADDRESS__
// The allocator of the process keeps blocks to its end, and what only they point to is not lost.
TEST(ArenaTest, TheLeakCheckerSeesWhatBlocksPointTo) {
  static Arena arena(2 * kMiB);
  static std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) {
    blocks.push_back(arena.Allocate(8192));
    *static_cast<int**>(blocks.back()) = new int(i);
  }
  EXPECT_EQ(__lsan_do_recoverable_leak_check(), 0);
  for (void* const block : blocks) {
    delete *static_cast<int**>(block);
    arena.Free(block);
  }
  arena.Trim();
}
#endif

TEST(ArenaTest, FreeNeighboursJoin) {
  Arena arena(2 * kMiB);
  std::vector<void*> blocks;
  for (int i = 0; i < 15; ++i) blocks.push_back(arena.Allocate(128 * 1024));
  for (size_t i = 0; i < blocks.size(); i += 2) arena.Free(blocks[i]);
  for (size_t i = 1; i < blocks.size(); i += 2) arena.Free(blocks[i]);
  void* const all = arena.Allocate(2 * kMiB - 1024);
  EXPECT_EQ(arena.stats().num_regions, 1u);
  arena.Free(all);
}

TEST(ArenaTest, TheSmallestHoleThatFitsIsTaken) {
  Arena arena(4 * kMiB);
  void* const large = arena.Allocate(512 * 1024);
  void* const wall1 = arena.Allocate(4096);
  void* const small = arena.Allocate(128 * 1024);
  void* const wall2 = arena.Allocate(4096);
  arena.Free(large);
  arena.Free(small);
  void* const fit = arena.Allocate(100 * 1024);
  EXPECT_EQ(fit, small);
  for (void* const block : {fit, wall1, wall2}) arena.Free(block);
}

// Page faults of this thread so far.
int64_t PageFaults() {
  rusage usage;
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt + usage.ru_majflt : -1;
}

// How many page faults it costs to fill a block of 30 MiB, the first one of a new arena.
int64_t FaultsOfTheFirstBlock(bool touch) {
  Arena arena(32 * kMiB);
  if (touch) arena.TouchFree();
  const int64_t before = PageFaults();
  void* const block = arena.Allocate(30 * kMiB);
  std::memset(block, 1, 30 * kMiB);
  const int64_t faults = PageFaults() - before;
  arena.Free(block);
  return faults;
}

TEST(ArenaTest, TouchedMemoryCostsNoPageFaultsAnyMore) {
  const int64_t untouched = FaultsOfTheFirstBlock(/*touch=*/false), touched = FaultsOfTheFirstBlock(/*touch=*/true);
  EXPECT_GE(untouched, 14) << "a fault per huge page at least, else this shows nothing";
  // Two are others; a sanitizer's own memory comes in some more.
  EXPECT_LE(touched, untouched - 12);
}

// Kilobytes of this process that are in memory.
int64_t ResidentKilobytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = -1;
  file >> all >> resident;
  return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

TEST(ArenaTest, OneSmallBlockTakesNoHugePage) {
  const int64_t before = ResidentKilobytes();
  Arena arena;
  void* const block = arena.Allocate(8192);
  std::memset(block, 1, 8192);
  EXPECT_LT(ResidentKilobytes() - before, 512);
  arena.Free(block);
}

TEST(ArenaTest, TouchingLeavesLiveBlocksAlone) {
  Arena arena(2 * kMiB);
  std::vector<char*> blocks;
  for (int i = 0; i < 12; ++i) blocks.push_back(static_cast<char*>(arena.Allocate(128 * 1024)));
  for (size_t i = 0; i < blocks.size(); ++i) std::memset(blocks[i], static_cast<int>(i + 1), 128 * 1024);
  for (size_t i = 0; i < blocks.size(); i += 2) arena.Free(blocks[i]);
  arena.TouchFree();
  for (size_t i = 1; i < blocks.size(); i += 2) {
    const std::vector<char> wanted(128 * 1024, static_cast<char>(i + 1));
    EXPECT_EQ(std::memcmp(blocks[i], wanted.data(), wanted.size()), 0) << i;
    arena.Free(blocks[i]);
  }
  EXPECT_EQ(arena.stats().live_bytes, 0u);
  void* const all = arena.Allocate(2 * kMiB - 1024);
  EXPECT_EQ(arena.stats().num_regions, 1u) << "the free blocks are as they were";
  arena.Free(all);
}

TEST(ArenaTest, TrimKeepsWhatWasNeededLately) {
  Arena arena(2 * kMiB, 2 * kMiB);
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(arena.Allocate(kMiB + kMiB / 2));
  EXPECT_EQ(arena.stats().num_regions, 8u);
  for (void* const block : blocks) arena.Free(block);
  arena.Trim();
  EXPECT_EQ(arena.stats().num_regions, 8u);  // The step before needed them all.
  arena.Trim();
  EXPECT_EQ(arena.stats().num_regions, 0u);  // Nothing was needed since.
}

TEST(ArenaTest, WhatNoSystemHasIsNull) {
  Arena arena(2 * kMiB);
  EXPECT_EQ(arena.Allocate(size_t{1} << 47), nullptr);
}

// Blocks are freed by destructors, also where the run fails because there is no memory.
TEST(ArenaTest, FreeingNeedsNoMemory) {
  Arena arena(2 * kMiB);
  std::vector<void*> blocks;
  for (int i = 0; i < 15; ++i) blocks.push_back(arena.Allocate(128 * 1024));
  FailNewCall(1, /*and_later=*/true);
  for (size_t i = 0; i < blocks.size(); i += 2) arena.Free(blocks[i]);  // Each is an entry of its own.
  for (size_t i = 1; i < blocks.size(); i += 2) arena.Free(blocks[i]);  // Joins its neighbours.
  const bool has_asked = HasFailedNewCall();
  FailNewCall(0);
  EXPECT_FALSE(has_asked);
  EXPECT_EQ(arena.stats().live_bytes, 0u);
  void* const all = arena.Allocate(2 * kMiB - 1024);
  EXPECT_EQ(arena.stats().num_regions, 1u);
  arena.Free(all);
}

TEST(ArenaTest, WithoutMemoryForItsBooksABlockIsLargerOrNull) {
  Arena arena(2 * kMiB);
  FailNewCall(1, /*and_later=*/true);
  void* const none = arena.Allocate(128 * 1024);
  const bool has_failed = HasFailedNewCall();
  FailNewCall(0);
  EXPECT_EQ(none == nullptr, has_failed);  // Sanitizers have an operator new of their own.
  arena.Free(arena.Allocate(128 * 1024));  // There is a region now.
  FailNewCall(1, /*and_later=*/true);
  void* const block = arena.Allocate(128 * 1024);
  FailNewCall(0);
  ASSERT_NE(block, nullptr);
  arena.Free(block);
  if (none != nullptr) arena.Free(none);
  EXPECT_EQ(arena.stats().live_bytes, 0u);
}

// Every byte of a block is its seed, until the block is freed: blocks never overlap.
TEST(ArenaTest, RandomBlocksKeepTheirBytes) {
  Arena arena(2 * kMiB);
  std::mt19937 random(7);
  std::vector<std::pair<unsigned char*, size_t>> live;
  for (int i = 0; i < 2000; ++i) {
    if (live.size() > 40 || (!live.empty() && random() % 2 == 0)) {
      std::swap(live[random() % live.size()], live.back());
      const auto [data, bytes] = live.back();
      const unsigned char seed = static_cast<unsigned char>(bytes);
      ASSERT_EQ(data[0], seed);
      ASSERT_EQ(data[bytes - 1], seed);
      arena.Free(data);
      live.pop_back();
    } else {
      const size_t bytes = 1 + random() % (200 * 1000);
      auto* const data = static_cast<unsigned char*>(arena.Allocate(bytes));
      std::memset(data, static_cast<int>(bytes & 0xff), bytes);
      live.emplace_back(data, bytes);
    }
  }
  for (const auto& [data, bytes] : live) arena.Free(data);
  EXPECT_EQ(arena.stats().live_bytes, 0u);
}

}  // namespace
}  // namespace sluice
