#include "graph/base/big_vector.h"

namespace sluice {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

void* AllocateBig(size_t bytes) {
  if (bytes < kBigBytes) return ::operator new(bytes);
  // Huge where the system gives such pages unasked. To ask for them (madvise) makes it move other pages out of the way
  // while we wait: preparing 1M nodes took 1.1 s instead of 0.65 on a machine whose memory was in use.
  return ::operator new (bytes, std::align_val_t{kHugePage});
}

void FreeBig(void* memory, size_t bytes) noexcept {
  if (bytes < kBigBytes) {
    ::operator delete(memory);
  } else {
    ::operator delete (memory, std::align_val_t{kHugePage});
  }
}

}  // namespace sluice
