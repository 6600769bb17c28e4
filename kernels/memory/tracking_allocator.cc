#include "kernels/memory/tracking_allocator.h"

namespace sluice {

void* TrackingAllocator::Allocate(size_t bytes, StreamTag stream) {
  const int64_t size = bytes > static_cast<size_t>(kNoLimit / 2) ? kNoLimit / 2 : static_cast<int64_t>(bytes);
  // Added first and taken back when it is too much: two threads cannot both take the last bytes.
  const int64_t live = live_.fetch_add(size, std::memory_order_relaxed) + size;
  void* const data = live <= limit_bytes() ? base_.Allocate(bytes, stream) : nullptr;
  if (data == nullptr) {
    live_.fetch_sub(size, std::memory_order_relaxed);
    failures_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  allocations_.fetch_add(1, std::memory_order_relaxed);
  int64_t peak = peak_bytes();
  while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
  return data;
}

void TrackingAllocator::Free(void* data, size_t bytes, StreamTag stream) {
  live_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  base_.Free(data, bytes, stream);
}

}  // namespace sluice
