#include "kernels/worker_scratch.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "kernels/device/cpu_device.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Four workers on a device with an allocator of its own.
class WorkerScratchTest : public ::testing::Test {
 protected:
  WorkerScratchTest() : pool_(Four()), device_("/device:CPU:0", 1, &memory_) {
    run_.task_runner = &pool_;
    run_.device = &device_;
    run_.allocator = &memory_;
  }
  static ThreadPoolOptions Four() {
    ThreadPoolOptions options;
    options.num_threads = 4;
    return options;
  }
  absl::StatusOr<WorkerScratch> Make(int64_t shards, int64_t bytes, ScratchKeeper* keeper) {
    return WorkerScratch::Make(Workers(run_), shards, bytes, keeper);
  }

  ThreadPool pool_;
  TrackingAllocator memory_{HostAllocator(), int64_t{1} << 40};
  CpuDevice device_;
  RunContext run_;
};

TEST_F(WorkerScratchTest, EachWorkerHasMemoryOfItsOwnAligned) {
  ASSERT_OK_AND_ASSIGN(const WorkerScratch scratch, Make(100, 100, nullptr));
  for (int worker = 0; worker < 4; ++worker) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(scratch.of(worker)) % kTensorAlignment, 0u);
    std::memset(scratch.of(worker), worker, 100);
  }
  for (int worker = 0; worker < 4; ++worker) {
    for (int i = 0; i < 100; ++i) ASSERT_EQ(static_cast<char*>(scratch.of(worker))[i], worker);
  }
}

TEST_F(WorkerScratchTest, ComesFromTheRunsAllocatorForAsManyAsWork) {
  ASSERT_OK_AND_ASSIGN(const WorkerScratch all, Make(100, 1 << 10, nullptr));
  const int64_t for_four = memory_.live_bytes();
  EXPECT_GE(for_four, 4 << 10);
  ASSERT_OK_AND_ASSIGN(const WorkerScratch two, Make(2, 1 << 10, nullptr));
  EXPECT_LT(memory_.live_bytes() - for_four, 3 << 10);
}

TEST_F(WorkerScratchTest, IsKeptForTheNextCall) {
  ScratchKeeper keeper;
  uintptr_t first = 0;
  {
    ASSERT_OK_AND_ASSIGN(const WorkerScratch scratch, Make(4, 1 << 10, &keeper));
    first = reinterpret_cast<uintptr_t>(scratch.of(0));
    EXPECT_EQ(keeper.kept_bytes(), 0u) << "in use";
  }
  EXPECT_EQ(keeper.kept_bytes(), size_t{4} << 10);
  {
    ASSERT_OK_AND_ASSIGN(const WorkerScratch scratch, Make(4, 1 << 9, &keeper));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(scratch.of(0)), first);
    EXPECT_EQ(static_cast<char*>(scratch.of(1)) - static_cast<char*>(scratch.of(0)), 1 << 9);
  }
  EXPECT_EQ(keeper.kept_bytes(), size_t{4} << 10);
}

TEST_F(WorkerScratchTest, TwoCallsAtOnceNeverShareAndTheLargerIsKept) {
  ScratchKeeper keeper;
  {
    ASSERT_OK_AND_ASSIGN(const WorkerScratch one, Make(4, 1 << 10, &keeper));
    ASSERT_OK_AND_ASSIGN(const WorkerScratch two, Make(4, 1 << 12, &keeper));
    EXPECT_NE(one.of(0), two.of(0));
  }
  EXPECT_EQ(keeper.kept_bytes(), size_t{4} << 12);
  const int64_t kept = memory_.live_bytes();
  { ASSERT_OK_AND_ASSIGN(const WorkerScratch three, Make(4, 1 << 12, &keeper)); }
  EXPECT_EQ(memory_.live_bytes(), kept);
}

// A model of 200 convolutions keeps as much as its largest one needs, not 200 times as much.
TEST_F(WorkerScratchTest, KernelsThatFollowEachOtherShareOnePiece) {
  std::vector<std::unique_ptr<ScratchKeeper>> keepers;
  for (int i = 0; i < 200; ++i) keepers.push_back(std::make_unique<ScratchKeeper>());
  for (int round = 0; round < 2; ++round) {
    for (const auto& keeper : keepers) {
      ASSERT_OK_AND_ASSIGN(const WorkerScratch scratch, Make(4, 1 << 20, keeper.get()));
      std::memset(scratch.of(3), round, 1 << 20);
    }
  }
  EXPECT_EQ(keepers.back()->kept_bytes(), ScratchKeeper::kMaxKeptBytes);
  EXPECT_EQ(keepers.front()->kept_bytes(), 0u);
  EXPECT_LT(memory_.live_bytes(), 5 << 20);
  keepers.pop_back();
  EXPECT_EQ(memory_.live_bytes(), 0);
}

TEST_F(WorkerScratchTest, KernelsThatRunAtOnceKeepABoundedNumberOfPieces) {
  const auto kept_after = [&](int count, int64_t bytes) {
    std::vector<std::unique_ptr<ScratchKeeper>> keepers;
    {
      std::vector<WorkerScratch> calls;
      for (int i = 0; i < count; ++i) {
        keepers.push_back(std::make_unique<ScratchKeeper>());
        absl::StatusOr<WorkerScratch> made = Make(1, bytes, keepers.back().get());
        EXPECT_OK(made);
        if (made.ok()) calls.push_back(*std::move(made));
      }
    }
    std::pair<size_t, size_t> kept;  // Bytes, pieces.
    for (const auto& keeper : keepers) {
      kept.first += keeper->kept_bytes();
      if (keeper->kept_bytes() > 0) ++kept.second;
    }
    EXPECT_EQ(keepers.back()->kept_bytes(), static_cast<size_t>(bytes)) << "the oldest go first";
    return kept;
  };
  EXPECT_EQ(kept_after(40, 2 << 20), std::make_pair(ScratchKeeper::kMaxBytesInAll, size_t{16}));
  EXPECT_EQ(kept_after(100, 64), std::make_pair(size_t{64 * 64}, ScratchKeeper::kMaxPieces));
  EXPECT_EQ(memory_.live_bytes(), 0);
}

TEST_F(WorkerScratchTest, KeepersOfManyThreadsNeverHandOutOnePieceTwice) {
  std::vector<std::unique_ptr<ScratchKeeper>> keepers;
  for (int i = 0; i < 6; ++i) keepers.push_back(std::make_unique<ScratchKeeper>());
  std::atomic<int> num_wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        absl::StatusOr<WorkerScratch> scratch = Make(1, 256 + 64 * (i % 5), keepers[(t + i) % 6].get());
        if (!scratch.ok()) continue;
        auto* const mine = static_cast<volatile int*>(scratch->of(0));
        *mine = t * 1000 + i;
        std::this_thread::yield();
        if (*mine != t * 1000 + i) ++num_wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong.load(), 0);
  keepers.clear();
  EXPECT_EQ(memory_.live_bytes(), 0);
}

TEST_F(WorkerScratchTest, MuchIsNotKept) {
  ScratchKeeper keeper;
  { ASSERT_OK_AND_ASSIGN(const WorkerScratch scratch, Make(4, ScratchKeeper::kMaxKeptBytes, &keeper)); }
  EXPECT_EQ(keeper.kept_bytes(), 0u);
  EXPECT_EQ(memory_.live_bytes(), 0);
}

// A run's own allocator may be gone when the kernel is called again.
TEST_F(WorkerScratchTest, MemoryOfARunsOwnAllocatorIsNotKept) {
  ScratchKeeper keeper;
  TrackingAllocator of_run(HostAllocator());
  run_.allocator = &of_run;
  { ASSERT_OK_AND_ASSIGN(const WorkerScratch scratch, Make(4, 1 << 10, &keeper)); }
  EXPECT_EQ(keeper.kept_bytes(), 0u);
  EXPECT_EQ(of_run.live_bytes(), 0);
}

TEST_F(WorkerScratchTest, MemoryOfAnotherAllocatorIsNotTaken) {
  ScratchKeeper keeper;
  { ASSERT_OK_AND_ASSIGN(const WorkerScratch scratch, Make(4, 1 << 10, &keeper)); }
  run_.allocator = &HostAllocator();
  const int64_t before = HostAllocatorLiveBytes();
  ASSERT_OK_AND_ASSIGN(const WorkerScratch scratch, Make(4, 1 << 10, &keeper));
  EXPECT_GE(HostAllocatorLiveBytes() - before, 4 << 10);
}

TEST_F(WorkerScratchTest, SizesThatCannotBeCountedOrHadAreErrors) {
  for (const int64_t bytes :
       {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max() / 3, int64_t{1} << 50}) {
    EXPECT_EQ(Make(4, bytes, nullptr).status().code(), absl::StatusCode::kResourceExhausted) << bytes;
  }
  ASSERT_OK_AND_ASSIGN(const WorkerScratch none, Make(0, 0, nullptr));
  EXPECT_NE(none.of(0), nullptr);
}

}  // namespace
}  // namespace sluice
