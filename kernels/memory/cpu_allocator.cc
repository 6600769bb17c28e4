#include "kernels/memory/cpu_allocator.h"

#include <algorithm>
#include <cstdint>
#include <new>

#include "graph/base/mutex.h"
#include "kernels/memory/arena.h"
#include "kernels/memory/size_classes.h"

namespace sluice {
namespace {

// A free block: its first word leads to the next one.
struct FreeBlock {
  FreeBlock* next;
};

// Blocks that move between a thread and the common stock at once: many small ones, few large ones.
constexpr uint32_t BatchOf(int size_class) {
  const size_t fit = 32 * 1024 / SizeOfClass(size_class);
  return static_cast<uint32_t>(fit < 2 ? 2 : (fit > 32 ? 32 : fit));
}

// A row of free blocks. Not thread-safe.
struct FreeList {
  FreeBlock* head = nullptr;
  uint32_t count = 0;

  void Push(FreeBlock* block) {
    block->next = head;
    head = block;
    ++count;
  }
  FreeBlock* Pop() {
    FreeBlock* const block = head;
    head = block->next;
    --count;
    return block;
  }
};

// The free blocks of one class that no thread holds, and memory that was never used. Thread-safe.
class Stock {
 public:
  // Moves up to a batch to `to`. Leaves it empty if memory runs out.
  void Take(int size_class, Arena& arena, FreeList& to) ABSL_LOCKS_EXCLUDED(mu_) {
    const size_t size = SizeOfClass(size_class);
    uint32_t wanted = BatchOf(size_class);
    MutexLock lock(&mu_);
    for (; wanted > 0 && free_.count > 0; --wanted) to.Push(free_.Pop());
    if (to.count > 0) return;
    if (static_cast<size_t>(end_ - begin_) < size) {
      const size_t bytes = std::max<size_t>(size * wanted * 2, 64 * 1024);
      begin_ = static_cast<char*>(arena.Allocate(bytes));
      end_ = begin_ == nullptr ? nullptr : begin_ + bytes;
    }
    for (; wanted > 0 && static_cast<size_t>(end_ - begin_) >= size; --wanted) {
      to.Push(::new (begin_) FreeBlock);
      begin_ += size;
    }
  }
  // Takes `count` blocks of `from` over.
  void Give(FreeList& from, uint32_t count) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    for (; count > 0; --count) free_.Push(from.Pop());
  }

 private:
  Mutex mu_;
  FreeList free_ ABSL_GUARDED_BY(mu_);
  char* begin_ ABSL_GUARDED_BY(mu_) = nullptr;  // [begin_, end_) was never used.
  char* end_ ABSL_GUARDED_BY(mu_) = nullptr;
};

class CachingCpuAllocator;

// The free blocks of one thread. They go to the stocks when the thread ends.
struct ThreadBlocks {
  FreeList lists[kNumSizeClasses];
  bool has_ended = false;  // The thread's last destructors run: nothing is kept any more.
};

// The one allocator of CpuAllocator(): threads' blocks, the common stocks, and the arena that they come from.
// Thread-safe.
class CachingCpuAllocator final : public Allocator {
 public:
  absl::string_view name() const override { return "cpu"; }

  void* Allocate(size_t bytes, StreamTag) override {
    if (bytes > kMaxSmallBytes) return arena_.Allocate(bytes);
    const int size_class = SizeClassOf(bytes);
    FreeList& list = BlocksOfThisThread().lists[size_class];
    if (list.head == nullptr) {
      stocks_[size_class].Take(size_class, arena_, list);
      if (list.head == nullptr) return nullptr;
    }
    return list.Pop();
  }

  void Free(void* data, size_t bytes, StreamTag) override {
    if (bytes > kMaxSmallBytes) {
      arena_.Free(data);
      return;
    }
    const int size_class = SizeClassOf(bytes);
    ThreadBlocks& blocks = BlocksOfThisThread();
    FreeList& list = blocks.lists[size_class];
    list.Push(::new (data) FreeBlock);
    const uint32_t batch = BatchOf(size_class);
    if (blocks.has_ended) {
      stocks_[size_class].Give(list, list.count);
    } else if (list.count > 2 * batch) {
      stocks_[size_class].Give(list, batch);
    }
  }

  Arena& arena() { return arena_; }

 private:
  // Gives a thread's blocks back when it ends.
  struct ThreadExitHook {
    ~ThreadExitHook();
  };

  static ThreadBlocks& BlocksOfThisThread();
  void GiveAll(ThreadBlocks& blocks) {
    for (int i = 0; i < kNumSizeClasses; ++i) stocks_[i].Give(blocks.lists[i], blocks.lists[i].count);
  }

  Arena arena_;
  Stock stocks_[kNumSizeClasses];
};

// Made on first use: tensors may outlive everything.
CachingCpuAllocator& Instance() {
  alignas(CachingCpuAllocator) static char memory[sizeof(CachingCpuAllocator)];
  static CachingCpuAllocator* const allocator = ::new (memory) CachingCpuAllocator;
  return *allocator;
}

thread_local ThreadBlocks t_blocks;  // Constant-initialised and trivially destroyed: costs no guard.
thread_local bool t_is_known = false;

CachingCpuAllocator::ThreadExitHook::~ThreadExitHook() {
  t_blocks.has_ended = true;
  Instance().GiveAll(t_blocks);
}

ThreadBlocks& CachingCpuAllocator::BlocksOfThisThread() {
  if (!t_is_known) {
    t_is_known = true;
    thread_local ThreadExitHook hook;
    static_cast<void>(hook);
  }
  return t_blocks;
}

}  // namespace

Allocator& CpuAllocator() { return Instance(); }

CpuAllocatorStats GetCpuAllocatorStats() {
  const Arena::Stats stats = Instance().arena().stats();
  return {stats.reserved_bytes, stats.live_bytes};
}

void TouchCpuAllocator() { Instance().arena().TouchFree(); }

void TrimCpuAllocator() { Instance().arena().Trim(); }

}  // namespace sluice
