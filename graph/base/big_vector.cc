#include "graph/base/big_vector.h"

#include <sys/mman.h>

namespace sluice {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

void* AllocateBig(size_t bytes) {
  if (bytes < kBigBytes) return ::operator new(bytes);
  void* const memory = ::operator new (bytes, std::align_val_t{kHugePage});
  // Only whole pages, so that no more becomes resident than is asked for. A wish: all works with small pages, too.
  madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return memory;
}

void FreeBig(void* memory, size_t bytes) noexcept {
  if (bytes < kBigBytes) {
    ::operator delete(memory);
  } else {
    ::operator delete (memory, std::align_val_t{kHugePage});
  }
}

}  // namespace sluice
