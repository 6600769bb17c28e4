#include "kernels/memory/tracking_allocator.h"

#include <atomic>
#include <thread>
#include <vector>

#include "graph/value/tensor.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(TrackingAllocatorTest, CountsWhatIsLiveAndThePeak) {
  TrackingAllocator allocator(HostAllocator());
  void* const a = allocator.Allocate(100, kHostStream);
  void* const b = allocator.Allocate(50, kHostStream);
  allocator.Free(a, 100, kHostStream);
  EXPECT_EQ(allocator.live_bytes(), 50);
  EXPECT_EQ(allocator.peak_bytes(), 150);
  EXPECT_EQ(allocator.allocations(), 2);
  allocator.Free(b, 50, kHostStream);
  EXPECT_EQ(allocator.live_bytes(), 0);
}

TEST(TrackingAllocatorTest, GivesNothingBeyondTheLimit) {
  TrackingAllocator allocator(HostAllocator(), 1000);
  EXPECT_EQ(allocator.Allocate(1001, kHostStream), nullptr);
  EXPECT_EQ(allocator.Allocate(SIZE_MAX, kHostStream), nullptr);
  EXPECT_EQ(allocator.failures(), 2);
  EXPECT_EQ(allocator.live_bytes(), 0);
  void* const data = allocator.Allocate(1000, kHostStream);
  EXPECT_NE(data, nullptr);
  allocator.Free(data, 1000, kHostStream);
}

TEST(TrackingAllocatorTest, ATensorThatDoesNotFitIsAnError) {
  TrackingAllocator allocator(HostAllocator(), 1000);
  EXPECT_EQ(Tensor::Make(DType::kFloat, Shape::Of({1000}), allocator).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Tensor::Make(DType::kFloat, Shape::Of({100}), allocator).ok());
}

TEST(TrackingAllocatorTest, ThreadsShareTheLimit) {
  TrackingAllocator allocator(HostAllocator(), 64 * 100);
  std::atomic<int> given{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        void* const data = allocator.Allocate(64, kHostStream);
        if (data == nullptr) continue;
        given.fetch_add(1);
        allocator.Free(data, 64, kHostStream);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator.live_bytes(), 0);
  EXPECT_LE(allocator.peak_bytes(), 6400);
  EXPECT_EQ(allocator.allocations(), given.load());
}

}  // namespace
}  // namespace sluice
