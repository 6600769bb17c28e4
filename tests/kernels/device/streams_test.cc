// What Note [Streams] promises, with a device that plays a GPU.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "kernels/device/stream.h"
#include "tests/testing/counting_allocator.h"
#include "tests/testing/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Use = StreamDevice::Use;

class StreamsTest : public ::testing::Test {
 protected:
  StreamsTest() : device_(Options()) {}

  static FakeDevice::Options Options() {
    FakeDevice::Options options;
    options.max_delay = absl::ZeroDuration();
    return options;
  }
  // Holds the stream up until Open.
  void Block(Use use) {
    device_.stream(use).Queue([this] {
      while (!is_open_) absl::SleepFor(absl::Microseconds(50));
      return absl::OkStatus();
    });
  }
  void Open() { is_open_ = true; }
  absl::StatusOr<Tensor> Make(Use use, int64_t count) {
    Stream& stream = device_.stream(use);
    return Tensor::Make(DType::kFloat, Shape::Of({count}), stream.memory(), stream.tag());
  }

  std::atomic<bool> is_open_{false};
  FakeDevice device_;
};

TEST_F(StreamsTest, MemoryIsReusedInTheOrderOfItsStream) {
  Block(Use::kCompute);
  ASSERT_OK_AND_ASSIGN(Tensor first, Make(Use::kCompute, 100));
  const void* const place = first.raw_data();
  first = Tensor();
  // The stream's own work comes later there. Others' may come before.
  ASSERT_OK_AND_ASSIGN(Tensor elsewhere, Make(Use::kToDevice, 100));
  EXPECT_NE(elsewhere.raw_data(), place);
  ASSERT_OK_AND_ASSIGN(Tensor again, Make(Use::kCompute, 100));
  EXPECT_EQ(again.raw_data(), place);
  again = Tensor();
  EXPECT_EQ(device_.num_moved(), 0);
  Open();
  device_.stream(Use::kCompute).AwaitIdle();
  ASSERT_OK_AND_ASSIGN(const Tensor moved, Make(Use::kToDevice, 100));
  EXPECT_EQ(moved.raw_data(), place);
  EXPECT_EQ(device_.num_moved(), 1);
}

TEST_F(StreamsTest, AStreamWaitsForAnotherOnceForWhatIsQueued) {
  FakeStream &a = device_.stream(Use::kToDevice), &b = device_.stream(Use::kCompute);
  std::atomic<int> seen{-1}, written{0};
  Block(Use::kToDevice);
  a.Queue([&] {
    written = 7;
    return absl::OkStatus();
  });
  ASSERT_OK(b.After(a));
  const uint64_t queued = b.num_queued();
  ASSERT_OK(b.After(a));
  EXPECT_EQ(b.num_queued(), queued);
  b.Queue([&] {
    seen = written.load();
    return absl::OkStatus();
  });
  Open();
  b.AwaitIdle();
  EXPECT_EQ(seen, 7);
  a.Queue([] { return absl::OkStatus(); });
  ASSERT_OK(b.After(a));
  EXPECT_GT(b.num_queued(), queued + 1);
}

TEST_F(StreamsTest, KeptTensorsGoWhenTheWorkIsDone) {
  ASSERT_OK_AND_ASSIGN(Tensor kept, Make(Use::kToDevice, 10));
  Block(Use::kCompute);
  device_.stream(Use::kCompute).Keep({kept});
  kept = Tensor();
  absl::SleepFor(absl::Milliseconds(2));
  EXPECT_GT(device_.live_bytes(), 0);
  Open();
  device_.events().Drain();
  EXPECT_EQ(device_.live_bytes(), 0);
}

TEST_F(StreamsTest, WhereNoEventCanBeRecordedTheHostWaits) {
  ASSERT_OK_AND_ASSIGN(Tensor kept, Make(Use::kToDevice, 10));
  device_.stream(Use::kCompute).Queue([] {
    absl::SleepFor(absl::Milliseconds(2));
    return absl::OkStatus();
  });
  device_.faults().record = 1;
  device_.stream(Use::kCompute).Keep({std::move(kept)});
  EXPECT_EQ(device_.live_bytes(), 0);
  EXPECT_EQ(device_.stream(Use::kCompute).num_done(), 1u);
}

TEST_F(StreamsTest, FailuresAreThoseSinceAMark) {
  const uint64_t before = device_.num_failures();
  FakeStream& stream = device_.stream(Use::kCompute);
  for (const char* const what : {"first", "second"}) {
    stream.Queue([what] { return absl::InternalError(what); });
  }
  stream.AwaitIdle();
  EXPECT_THAT(device_.FailureSince(before), StatusIs(absl::StatusCode::kInternal, "first"));
  EXPECT_THAT(device_.FailureSince(before + 1), StatusIs(absl::StatusCode::kInternal, "second"));
  EXPECT_OK(device_.FailureSince(before + 2));
  for (int i = 0; i < 100; ++i) stream.Queue([] { return absl::InternalError("more"); });
  stream.AwaitIdle();
  EXPECT_FALSE(device_.FailureSince(before).ok());
  // Of many, the last ones are kept.
  const uint64_t late = device_.num_failures();
  for (const char* const what : {"late", "later"}) {
    stream.Queue([what] { return absl::InternalError(what); });
  }
  stream.AwaitIdle();
  EXPECT_THAT(device_.FailureSince(late), StatusIs(absl::StatusCode::kInternal, "late"));
  EXPECT_THAT(device_.FailureSince(late + 1), StatusIs(absl::StatusCode::kInternal, "later"));
  EXPECT_OK(device_.FailureSince(late + 2));
}

TEST_F(StreamsTest, TheWriterOfATensorIsTheStreamOfItsMemory) {
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, Make(Use::kToHost, 10));
  EXPECT_EQ(device_.WriterOf(tensor), &device_.stream(Use::kToHost));
  EXPECT_TRUE(IsInDeviceMemory(tensor));
  EXPECT_EQ(device_.WriterOf(Tensor::Scalar(1.0f)), nullptr);
  FakeDevice other(Options());
  EXPECT_EQ(other.WriterOf(tensor), nullptr);
}

TEST_F(StreamsTest, AHostThatTouchesDeviceMemoryCrashes) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  ASSERT_OK_AND_ASSIGN(Tensor tensor, Make(Use::kCompute, 10));
  EXPECT_DEATH(
      {
        const volatile float* const data = static_cast<const float*>(tensor.raw_data());
        std::printf("%f", static_cast<double>(data[0]));
      },
      "");
}

// --- Staging ---------------------------------------------------------------------------------------------------------

class Waiter final : public Staging::Waiter {
 public:
  void BlockCame(Staging::Block* came) noexcept override { block = came; }
  Staging::Block* block = nullptr;
};

TEST(StagingTest, BlocksAreBoundedAndGivenInOrder) {
  Staging staging(HostAllocator(), 256, 2);
  Waiter none, first, second;
  ASSERT_OK_AND_ASSIGN(Staging::Block* const a, staging.TakeOrWait(&none));
  ASSERT_OK_AND_ASSIGN(Staging::Block* const b, staging.TakeOrWait(&none));
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_NE(a->data(), b->data());
  for (Waiter* const waiter : {&first, &second}) {
    ASSERT_OK_AND_ASSIGN(Staging::Block* const c, staging.TakeOrWait(waiter));
    EXPECT_EQ(c, nullptr);
  }
  a->Put();
  EXPECT_EQ(first.block, a);
  EXPECT_EQ(second.block, nullptr);
  b->Put();
  EXPECT_EQ(second.block, b);
  first.block->Put();
  second.block->Put();
  EXPECT_EQ(staging.num_blocks(), 2u);
  EXPECT_EQ(none.block, nullptr);
}

// Puts back what it gets, and so on: not one inside of the other.
class Chained final : public Staging::Waiter {
 public:
  void BlockCame(Staging::Block* came) noexcept override {
    max_depth = std::max(max_depth, ++depth);
    came->Put();
    --depth;
  }
  static int depth, max_depth;
};
int Chained::depth = 0;
int Chained::max_depth = 0;

TEST(StagingTest, AChainOfWaitersDoesNotGrowTheStack) {
  Staging staging(HostAllocator(), 256, 1);
  std::vector<Chained> chain(1000);
  ASSERT_OK_AND_ASSIGN(Staging::Block* const block, staging.TakeOrWait(&chain[0]));
  for (Chained& waiter : chain) ASSERT_OK(staging.TakeOrWait(&waiter));
  block->Put();
  EXPECT_EQ(Chained::max_depth, 1);
  ASSERT_OK_AND_ASSIGN(Staging::Block* const free, staging.TakeOrWait(&chain[0]));
  ASSERT_NE(free, nullptr);
  free->Put();
}

TEST(StagingTest, WithoutAnyPinnedMemoryThereIsAnError) {
  CountingAllocator pinned;
  pinned.set_limit(0);
  Staging staging(pinned, 256, 2);
  Waiter waiter;
  EXPECT_THAT(staging.TakeOrWait(&waiter).status(), StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace sluice
