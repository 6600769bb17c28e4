#include "kernels/worker_scratch.h"

#include <cstdint>
#include <cstring>
#include <limits>

#include "executor/thread_pool.h"
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
