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
void FailNewCall(int64_t, bool) {}
bool HasFailedNewCall() { return false; }
}  // namespace sluice

#else

namespace sluice {
namespace {

// Relaxed throughout: tests read the counts on the thread that allocates.
std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> peak_bytes{0};
std::atomic<int64_t> calls{0};
// Calls until one fails; 0 or less: none does.
std::atomic<int64_t> until_failure{0};
std::atomic<bool> and_later_calls{false};
std::atomic<bool> has_failed{false};

bool MustFail() {
  if (until_failure.load(std::memory_order_relaxed) <= 0) return false;
  if (until_failure.fetch_sub(1, std::memory_order_relaxed) != 1) return false;
  if (and_later_calls.load(std::memory_order_relaxed)) until_failure.store(1, std::memory_order_relaxed);
  has_failed.store(true, std::memory_order_relaxed);
  return true;
}

void* Count(void* memory) {
  if (memory != nullptr && MustFail()) {
    std::free(memory);
    throw std::bad_alloc();
  }
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
void FailNewCall(int64_t n, bool and_later) {
  until_failure.store(0, std::memory_order_relaxed);
  has_failed.store(false, std::memory_order_relaxed);
  and_later_calls.store(and_later, std::memory_order_relaxed);
  until_failure.store(n, std::memory_order_relaxed);
}
bool HasFailedNewCall() { return has_failed.load(std::memory_order_relaxed); }

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
