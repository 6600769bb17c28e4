#ifndef SLUICE_TESTS_TESTING_COUNTING_ALLOCATOR_H_
#define SLUICE_TESTS_TESTING_COUNTING_ALLOCATOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graph/value/allocator.h"

namespace sluice {

// The host allocator with counts and a limit; on demand it says that its memory is a device's (it is not).
// Thread-safety: all methods but set_limit from any thread.
class CountingAllocator final : public Allocator {
 public:
  explicit CountingAllocator(bool host_memory = true) : host_memory_(host_memory) {}

  absl::string_view name() const override { return "counting"; }
  bool IsHostMemory() const override { return host_memory_; }
  void* Allocate(size_t bytes, StreamTag stream) override {
    if (bytes > limit_) return nullptr;
    allocations_.fetch_add(1, std::memory_order_relaxed);
    live_.fetch_add(1, std::memory_order_relaxed);
    void* const data = HostAllocator().Allocate(bytes, stream);
    last_.store(data, std::memory_order_relaxed);
    return data;
  }
  void Free(void* data, size_t bytes, StreamTag stream) override {
    live_.fetch_sub(1, std::memory_order_relaxed);
    HostAllocator().Free(data, bytes, stream);
  }

  // Requests above `bytes` fail from now on.
  void set_limit(size_t bytes) { limit_ = bytes; }
  // Successful Allocate calls, and those of them not freed yet.
  int64_t allocations() const { return allocations_.load(std::memory_order_relaxed); }
  int64_t live() const { return live_.load(std::memory_order_relaxed); }
  // What the last one returned.
  void* last() const { return last_.load(std::memory_order_relaxed); }

 private:
  // Immutable once in use.
  const bool host_memory_;
  size_t limit_ = ~size_t{0};
  // Atomic: relaxed is enough, they are read when everything is at rest.
  std::atomic<int64_t> allocations_{0};
  std::atomic<int64_t> live_{0};
  std::atomic<void*> last_{nullptr};
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_COUNTING_ALLOCATOR_H_
