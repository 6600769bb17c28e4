// HostAllocator(): the heap, aligned by hand.

#include <atomic>
#include <cstdlib>

#include "graph/value/allocator.h"

namespace sluice {
namespace {

// Counts live bytes in a few cache lines, so that threads do not contend for one counter.
class LiveBytes {
 public:
  void Add(int64_t bytes) {
    // Relaxed: the sum is only read when everything is at rest.
    cells_[Index()].bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  int64_t Sum() const {
    int64_t sum = 0;
    for (const Cell& cell : cells_) sum += cell.bytes.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  static constexpr unsigned kNumCells = 16;
  struct alignas(64) Cell {
    std::atomic<int64_t> bytes{0};
  };

  unsigned Index() {
    thread_local unsigned index = kNumCells;  // Constant-initialised: costs no guard.
    if (index == kNumCells) index = next_.fetch_add(1, std::memory_order_relaxed) % kNumCells;
    return index;
  }

  std::atomic<unsigned> next_{0};
  Cell cells_[kNumCells];
};

constexpr size_t kMaxBytes = size_t{1} << 46;  // Beyond any address space.

// malloc plus alignment. The C library's own aligned calls bypass its per-thread caches, so small blocks would be
// several times slower. The byte before the data says how far the block's start is.
class PlainHostAllocator final : public Allocator {
 public:
  absl::string_view name() const override { return "host"; }

  void* Allocate(size_t bytes, StreamTag) override {
    if (bytes > kMaxBytes) return nullptr;
    char* block = static_cast<char*>(std::malloc(bytes + kTensorAlignment));
    if (block == nullptr) return nullptr;
    const size_t misfit = reinterpret_cast<uintptr_t>(block) % kTensorAlignment;
    const size_t shift = kTensorAlignment - misfit;  // 1 to 64, at least 16 in fact.
    char* data = block + shift;
    data[-1] = static_cast<char>(shift);
    live_.Add(static_cast<int64_t>(bytes));
    return data;
  }

  void Free(void* data, size_t bytes, StreamTag) override {
    char* start = static_cast<char*>(data);
    live_.Add(-static_cast<int64_t>(bytes));
    std::free(start - start[-1]);
  }

  int64_t LiveSum() const { return live_.Sum(); }

 private:
  LiveBytes live_;
};

// Never destroyed, and made on first use: buffers may outlive everything.
PlainHostAllocator& Instance() {
  alignas(PlainHostAllocator) static char memory[sizeof(PlainHostAllocator)];
  static PlainHostAllocator* const allocator = ::new (memory) PlainHostAllocator;
  return *allocator;
}

}  // namespace

Allocator& HostAllocator() { return Instance(); }

int64_t HostAllocatorLiveBytes() { return Instance().LiveSum(); }

}  // namespace sluice
