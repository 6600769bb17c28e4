#include "graph/value/buffer.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_allocator.h"

namespace sluice {
namespace {

TEST(HostAllocatorTest, EverySizeIsAlignedAndCounted) {
  const int64_t live = HostAllocatorLiveBytes();
  std::vector<void*> blocks;
  for (size_t bytes = 0; bytes < 300; ++bytes) {
    blocks.push_back(HostAllocator().Allocate(bytes, kHostStream));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back()) % kTensorAlignment, 0u);
    std::fill_n(static_cast<char*>(blocks.back()), bytes, 'x');
  }
  EXPECT_EQ(HostAllocatorLiveBytes() - live, 299 * 300 / 2);
  for (size_t bytes = 0; bytes < 300; ++bytes) HostAllocator().Free(blocks[bytes], bytes, kHostStream);
  EXPECT_EQ(HostAllocatorLiveBytes(), live);
}

TEST(HostAllocatorTest, ImpossibleSizesGiveNull) {
  EXPECT_EQ(HostAllocator().Allocate(~size_t{0}, kHostStream), nullptr);
  EXPECT_EQ(HostAllocator().Allocate(size_t{1} << 61, kHostStream), nullptr);
  EXPECT_EQ(Buffer::New(DType::kDouble, int64_t{1} << 61, HostAllocator()), nullptr);
}

TEST(BufferTest, HeaderAndBytesAreOneAllocationOnTheHost) {
  CountingAllocator allocator;
  Buffer* const buffer = Buffer::New(DType::kInt32, 10, allocator);
  EXPECT_EQ(allocator.allocations(), 1);
  EXPECT_EQ(buffer->bytes(), 40u);
  EXPECT_EQ(static_cast<void*>(buffer + 1), buffer->data());
  EXPECT_EQ(buffer->element_dtype(), DType::kInvalid);
  buffer->Unref();
  EXPECT_EQ(allocator.live(), 0);
}

TEST(BufferTest, AFailedDeviceAllocationLeavesNothing) {
  CountingAllocator allocator(/*host_memory=*/false);
  allocator.set_limit(10);
  const int64_t live = HostAllocatorLiveBytes();
  EXPECT_EQ(Buffer::New(DType::kInt32, 10, allocator), nullptr);
  EXPECT_EQ(HostAllocatorLiveBytes(), live);
}

TEST(BufferTest, TheLastOfManyThreadsEndsIt) {
  for (int round = 0; round < 50; ++round) {
    int released = 0;
    char bytes[8] = {};
    Buffer* const buffer = Buffer::Wrap(bytes, sizeof(bytes), [&released] { ++released; });
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      buffer->Ref();
      threads.emplace_back([buffer, i] {
        static_cast<char*>(buffer->data())[i] = 1;
        buffer->Unref();
      });
    }
    buffer->Unref();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(released, 1);
  }
}

TEST(BufferTest, StringsEndWithTheirBuffer) {
  Buffer* const buffer = Buffer::New(DType::kString, 3, HostAllocator());
  TString* const elements = static_cast<TString*>(buffer->data());
  EXPECT_TRUE(elements[2].empty());
  elements[1] = "longer than what an element holds in itself, so that the leak checker sees it";
  EXPECT_EQ(buffer->element_dtype(), DType::kString);
  buffer->Unref();
}

}  // namespace
}  // namespace sluice
