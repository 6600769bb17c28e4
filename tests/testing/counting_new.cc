#include "tests/testing/counting_new.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#ifndef SLUICE_COUNTS_NEW

namespace sluice {
int64_t LiveNewBytes() { return 0; }
int64_t PeakNewBytes() { return 0; }
void ResetPeakNewBytes() {}
int64_t NewCalls() { return 0; }
}  // namespace sluice

#else

namespace sluice {
namespace {

// Relaxed throughout: tests read the counts on the thread that allocates.
std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> peak_bytes{0};
std::atomic<int64_t> calls{0};

void* Count(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  calls.fetch_add(1, std::memory_order_relaxed);
  const auto size = static_cast<int64_t>(malloc_usable_size(memory));
  const int64_t live = live_bytes.fetch_add(size, std::memory_order_relaxed) + size;
  if (live > peak_bytes.load(std::memory_order_relaxed)) peak_bytes.store(live, std::memory_order_relaxed);
  return memory;
}

void Return(void* memory) {
  if (memory == nullptr) return;
  live_bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

void* NewAligned(size_t size, std::align_val_t alignment) {
  const size_t unit = static_cast<size_t>(alignment);
  return Count(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}

}  // namespace

int64_t LiveNewBytes() { return live_bytes.load(std::memory_order_relaxed); }
int64_t PeakNewBytes() { return peak_bytes.load(std::memory_order_relaxed); }
void ResetPeakNewBytes() { peak_bytes.store(LiveNewBytes(), std::memory_order_relaxed); }
int64_t NewCalls() { return calls.load(std::memory_order_relaxed); }

}  // namespace sluice

void* operator new(size_t size) { return sluice::Count(std::malloc(size)); }
void* operator new[](size_t size) { return sluice::Count(std::malloc(size)); }
void* operator new(size_t size, std::align_val_t alignment) { return sluice::NewAligned(size, alignment); }
void* operator new[](size_t size, std::align_val_t alignment) { return sluice::NewAligned(size, alignment); }
void operator delete(void* memory) noexcept { sluice::Return(memory); }
void operator delete[](void* memory) noexcept { sluice::Return(memory); }
void operator delete(void* memory, size_t) noexcept { sluice::Return(memory); }
void operator delete[](void* memory, size_t) noexcept { sluice::Return(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { sluice::Return(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { sluice::Return(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { sluice::Return(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { sluice::Return(memory); }

#endif  // SLUICE_COUNTS_NEW
