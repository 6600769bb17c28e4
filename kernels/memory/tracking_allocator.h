#ifndef SLUICE_KERNELS_MEMORY_TRACKING_ALLOCATOR_H_
#define SLUICE_KERNELS_MEMORY_TRACKING_ALLOCATOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "graph/value/allocator.h"

namespace sluice {

// Another allocator's memory, counted and limited: for one step, one session, or a test that lets every allocation fail
// once. Borrows the other. Must outlive all memory that it gave. Thread-safe.
class TrackingAllocator final : public Allocator {
 public:
  static constexpr int64_t kNoLimit = INT64_MAX;

  // Gives null when more than `limit_bytes` would be in use at a time.
  explicit TrackingAllocator(Allocator& base, int64_t limit_bytes = kNoLimit) : base_(base), limit_(limit_bytes) {}

  absl::string_view name() const override { return base_.name(); }
  bool IsHostMemory() const override { return base_.IsHostMemory(); }
  void* Allocate(size_t bytes, StreamTag stream) override;
  void Free(void* data, size_t bytes, StreamTag stream) override;

  // Bytes asked for and not given back yet; the most there ever were; allocations that succeeded, and that did not.
  int64_t live_bytes() const { return live_.load(std::memory_order_relaxed); }
  int64_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }
  int64_t allocations() const { return allocations_.load(std::memory_order_relaxed); }
  int64_t failures() const { return failures_.load(std::memory_order_relaxed); }
  int64_t limit_bytes() const { return limit_.load(std::memory_order_relaxed); }
  // Holds for what is asked for from now on.
  void set_limit_bytes(int64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }

 private:
  Allocator& base_;
  // Atomic: relaxed is enough, these count and publish nothing.
  std::atomic<int64_t> limit_;
  std::atomic<int64_t> live_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> allocations_{0};
  std::atomic<int64_t> failures_{0};
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_MEMORY_TRACKING_ALLOCATOR_H_
