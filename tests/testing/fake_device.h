#ifndef SLUICE_TESTS_TESTING_FAKE_DEVICE_H_
#define SLUICE_TESTS_TESTING_FAKE_DEVICE_H_

// A GPU without a GPU: memory of its own that the host cannot touch, streams with threads of their own that take their
// time, events, and failures on demand. What Note [Streams] in kernels/device/stream.h asks of a device, and nothing
// that makes mistakes pass: freed memory is overwritten in the order of its stream, so that reads that come later, or
// too early, get something else.

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "graph/base/mutex.h"
#include "kernels/device/event_waiter.h"
#include "kernels/device/staging.h"
#include "kernels/device/stream.h"
#include "tests/testing/fake_memory.h"

namespace sluice {

class FakeDevice;

// The failures to inject: each counts down with every call of its kind, and the call that makes it zero fails.
// Negative: none.
struct FakeFaults {
  std::atomic<int> launch{-1};    // Queuing a kernel.
  std::atomic<int> work{-1};      // A kernel, later, on the device.
  std::atomic<int> copy{-1};      // Queuing a copy.
  std::atomic<int> record{-1};    // Recording an event.
  std::atomic<int> allocate{-1};  // Device memory.
};

// One stream: a thread that does what is queued. Thread-safe.
class FakeStream final : public Stream {
 public:
  using Work = absl::AnyInvocable<absl::Status()>;

  FakeStream(FakeDevice& device, StreamTag tag, uint32_t seed, absl::Duration max_delay);
  ~FakeStream() override;

  Allocator& memory() override { return memory_; }
  absl::StatusOr<CountedPtr<Event>> Record() override;
  absl::Status WaitFor(const Event& event) override;
  void AwaitIdle() noexcept override;
  absl::Status CopyToDevice(void* to, const void* from, size_t bytes) override;
  absl::Status CopyToHost(void* to, const void* from, size_t bytes) override;

  // Queues a kernel. Pointers in `work` are the device's (FakeMemory::ForDevice).
  absl::Status Launch(Work work);
  // The same without faults. How much has been queued, this included.
  uint64_t Queue(Work work) ABSL_LOCKS_EXCLUDED(mu_);
  // Kernels and copies that are not done.
  int num_pending() const { return num_pending_.load(); }
  uint64_t num_done() const { return num_done_.load(std::memory_order_acquire); }
  // Whether `position` was done within so long.
  bool AwaitPosition(uint64_t position, absl::Duration limit) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Device memory in this stream's order.
  class Memory final : public Allocator {
   public:
    explicit Memory(FakeStream& stream) : stream_(stream) {}
    absl::string_view name() const override { return "fake device"; }
    bool IsHostMemory() const override { return false; }
    void* Allocate(size_t bytes, StreamTag tag) override;
    void Free(void* data, size_t bytes, StreamTag tag) override;

   private:
    FakeStream& stream_;
  };

  absl::Status Copy(void* to, const void* from, size_t bytes);
  void Loop() ABSL_LOCKS_EXCLUDED(mu_);

  FakeDevice& fake_;
  Memory memory_;
  const absl::Duration max_delay_;
  uint32_t random_;  // The thread's.
  Mutex mu_;
  CondVar changed_;
  std::deque<Work> work_ ABSL_GUARDED_BY(mu_);
  uint64_t num_queued_here_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
  std::atomic<int> num_pending_{0};
  std::atomic<uint64_t> num_done_{0};  // Release, acquire: what the work has written is seen.
  std::thread thread_;
};

// See the top of this file. Poses as a GPU: kernels for it are rows of DeviceKind::kCuda. Thread-safe.
class FakeDevice final : public StreamDevice {
 public:
  struct Options {
    std::string name = "/job:localhost/replica:0/task:0/device:GPU:0";
    int64_t incarnation = 7;
    size_t memory_bytes = size_t{16} << 20;
    size_t staging_block_bytes = 4096;
    size_t staging_blocks = 4;
    size_t small_copy_bytes = 64;                        // Copies of fewer go with the kernels.
    absl::Duration max_delay = absl::Microseconds(100);  // Of each piece of work, at random.
    uint32_t seed = 1;
    bool has_event_thread = true;  // False: as if the system had no thread left.
  };

  explicit FakeDevice(Options options);
  ~FakeDevice() override;

  Allocator& allocator() override { return HostAllocator(); }
  FakeStream& stream(Use use) override { return *streams_[static_cast<size_t>(use)]; }
  EventWaiter& events() override { return *events_; }
  Staging& staging() override { return *staging_; }
  Stream& StreamForCopy(Use direction, size_t bytes) override {
    return stream(bytes < options_.small_copy_bytes ? Use::kCompute : direction);
  }

  const FakeMemory& memory() const { return memory_; }
  FakeFaults& faults() { return faults_; }
  // Bytes that are allocated, rounded as they are.
  int64_t live_bytes() const ABSL_LOCKS_EXCLUDED(mu_);
  // Allocations that got memory which another stream had freed.
  int64_t num_moved() const ABSL_LOCKS_EXCLUDED(mu_);
  int64_t num_launches() const { return num_launches_.load(); }

 private:
  friend class FakeStream;
  // Free memory, for whom: its stream at once, others when that has done so much.
  struct Range {
    size_t offset;
    size_t bytes;
    StreamTag tag;  // 0: anybody's.
    uint64_t position;
  };

  void* Allocate(size_t bytes, StreamTag tag) ABSL_LOCKS_EXCLUDED(mu_);
  void* TakeFrom(size_t bytes, StreamTag tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Free(void* data, size_t bytes, FakeStream& stream) ABSL_LOCKS_EXCLUDED(mu_);
  // Joins what is anybody's by now.
  void Join() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsFreeFor(const Range& range, StreamTag tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail(absl::Status failure) { AddFailure(std::move(failure)); }

  const Options options_;
  FakeMemory memory_;
  FakeFaults faults_;
  std::atomic<int64_t> num_launches_{0};
  mutable Mutex mu_;
  std::vector<Range> free_ ABSL_GUARDED_BY(mu_);  // With room for all that is allocated.
  size_t num_live_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t live_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t num_moved_ ABSL_GUARDED_BY(mu_) = 0;
  // Destroyed in reverse order: the waiter for events needs the streams.
  std::array<std::unique_ptr<FakeStream>, 3> streams_;
  std::unique_ptr<Staging> staging_;
  std::unique_ptr<EventWaiter> events_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_FAKE_DEVICE_H_
