#ifndef SLUICE_KERNELS_DEVICE_STREAM_H_
#define SLUICE_KERNELS_DEVICE_STREAM_H_

// Asynchronous devices: how work is queued on them, in which order it is done, and when the host may read the results.
//
// Note [Streams]
// A stream is a queue of work of one device, done in the order in which it was queued. A kernel of such a device
// launches: it queues work and returns, and its outputs are valid in the order of its stream. So
//   1. Kernels run on the device's compute stream, copies of more than a few bytes on two streams of their own, one for
//      each direction. Which stream a call uses follows from the node and the sizes alone.
//   2. Memory belongs to the stream that it was allocated on (its allocator is Stream::memory()). Only work of that
//      stream writes it, so writers of one allocation need no further order.
//   3. Work on another stream that reads it waits, on the device, for what that stream has queued so far
//      (Stream::After), and holds a reference until it is done (Stream::Keep). While there is a second reference, no
//      kernel writes in place, and the memory is not freed. Where both are on one stream, nothing of this is needed.
//   4. Memory is freed by the host as soon as the last node that reads it has been launched: whoever gets it next on
//      the same stream comes later there anyway; for other streams it is free when the work queued so far is done.
//   5. The host reads device memory only through a copy, whose node is asynchronous and ends after an event. One thread
//      per device waits for events (EventWaiter); no kernel runs on it.
//   6. A run ends when the host has what leaves the device. One that fails, or that is told to (sync_on_finish), waits
//   for all queued work: none of it is still running when `done` is called.
//   7. Work that fails on the device is not the launch's error. The device counts such failures, and all runs that it
//      had work of meanwhile fail with them.
//   8. Host memory that a device reads or writes is pinned, and comes in blocks of which a device has a fixed number
//      (Staging); a copy that gets none waits for one without holding a thread.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "graph/base/mutex.h"
#include "graph/value/allocator.h"
#include "graph/value/counted.h"
#include "graph/value/tensor.h"
#include "kernels/device/device.h"
#include "kernels/device/event_waiter.h"
#include "kernels/device/staging.h"

namespace sluice {

class StreamDevice;

// Handles that must live until work on a device is done.
using KeptTensors = absl::InlinedVector<Tensor, 2>;

// A queue of work of one device (a cudaStream_t, say). See Note [Streams]. Borrows its device. Thread-safe.
class Stream {
 public:
  static constexpr StreamTag kMaxTag = 3;

  // REQUIRES: 0 < tag <= kMaxTag, another one than the device's other streams have.
  Stream(StreamDevice& device, StreamTag tag) : device_(device), tag_(tag) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  StreamDevice& device() const { return device_; }
  StreamTag tag() const { return tag_; }
  // Device memory for work on this stream. An object of its own for each stream, known by its address. Free may be
  // called by any thread, at any time after the work that uses the memory was queued.
  virtual Allocator& memory() = 0;

  // An event that comes when all work queued so far is done, also where it fails.
  virtual absl::StatusOr<CountedPtr<Event>> Record() = 0;
  // Work queued from now on begins after `event`, of a stream of the same device.
  virtual absl::Status WaitFor(const Event& event) = 0;
  // Waits, on the calling thread, until all work queued so far is done. For what cannot be done otherwise.
  virtual void AwaitIdle() noexcept = 0;
  // Queue a copy between device memory and pinned host memory, which both stay as they are until it is done.
  virtual absl::Status CopyToDevice(void* to, const void* from, size_t bytes) = 0;
  virtual absl::Status CopyToHost(void* to, const void* from, size_t bytes) = 0;

  // Work queued here from now on begins after all that `other`, of the same device, has queued so far.
  absl::Status After(Stream& other) ABSL_LOCKS_EXCLUDED(mu_);
  // Record; where that fails, waits for the stream instead. Null: all work queued so far is done.
  CountedPtr<Event> RecordOrWait() noexcept;
  // Holds `tensors` until the work queued so far is done.
  void Keep(KeptTensors tensors) noexcept;

  // Pieces of work queued so far; never more than have been. For implementations: to be called after each.
  uint64_t num_queued() const { return num_queued_.load(std::memory_order_acquire); }
  void CountQueued() { num_queued_.fetch_add(1, std::memory_order_release); }

 private:
  StreamDevice& device_;
  const StreamTag tag_;
  std::atomic<uint64_t> num_queued_{0};  // Release, acquire: the work itself is in the queue by then.
  Mutex mu_;
  // The work that has been waited for, by tag, in pieces.
  std::array<uint64_t, kMaxTag + 1> waited_ ABSL_GUARDED_BY(mu_) = {};
};

// A device that works on its own, and has memory of its own. See Note [Streams].
// Device::allocator() gives host memory: what its kernels leave to the host. Thread-safe.
class StreamDevice : public Device {
 public:
  enum class Use : uint8_t { kCompute, kToDevice, kToHost };
  static constexpr Use kUses[] = {Use::kCompute, Use::kToDevice, Use::kToHost};
  // Copies of fewer bytes go with the kernels: cheaper than to wait for another stream.
  static constexpr size_t kSmallCopyBytes = size_t{64} << 10;

  using Device::Device;

  StreamDevice* AsStreamDevice() final { return this; }
  // Waits for all streams.
  absl::Status Sync() final;

  virtual Stream& stream(Use use) = 0;
  virtual EventWaiter& events() = 0;
  virtual Staging& staging() = 0;
  // The stream for a copy of so many bytes.
  virtual Stream& StreamForCopy(Use direction, size_t bytes) {
    return stream(bytes < kSmallCopyBytes ? Use::kCompute : direction);
  }

  // The stream that wrote `tensor`; null for host memory, other devices' memory, and where there are no elements.
  Stream* WriterOf(const Tensor& tensor);

  // How much work has failed on the device so far, and the first that did after `mark`; OK where none did.
  uint64_t num_failures() const { return num_failures_.load(std::memory_order_acquire); }
  absl::Status FailureSince(uint64_t mark) const ABSL_LOCKS_EXCLUDED(mu_);

 protected:
  // For implementations: some work has failed. Before any event comes that was recorded after it.
  void AddFailure(absl::Status failure) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  static constexpr uint64_t kFailuresKept = 16;

  std::atomic<uint64_t> num_failures_{0};  // Release, acquire: the failure itself is there.
  mutable Mutex mu_;
  std::array<absl::Status, kFailuresKept> failures_ ABSL_GUARDED_BY(mu_);  // The last ones, by number.
};

// Whether the elements of `tensor` are where the CPU cannot reach them.
inline bool IsInDeviceMemory(const Tensor& tensor) {
  const Buffer* const buffer = tensor.buffer();
  return buffer != nullptr && buffer->allocator() != nullptr && !buffer->allocator()->IsHostMemory();
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_DEVICE_STREAM_H_
