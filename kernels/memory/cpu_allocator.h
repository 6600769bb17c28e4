#ifndef SLUICE_KERNELS_MEMORY_CPU_ALLOCATOR_H_
#define SLUICE_KERNELS_MEMORY_CPU_ALLOCATOR_H_

#include <cstddef>

#include "graph/value/allocator.h"

namespace sluice {

// Host memory for tensors that come and go by the million.
//
// Note [Small blocks]
// Blocks of up to 64 KiB come in size classes. Each thread keeps free blocks of its own and takes and gives without a
// lock; when it has none it takes a batch from the class's common stock, and when it has too many it gives a batch
// back. A block that another thread frees so travels with that thread's next batch. Memory of small blocks is never
// given back to the system; larger blocks come from an Arena.
//
// Lives for ever. Thread-safe.
Allocator& CpuAllocator();

struct CpuAllocatorStats {
  size_t reserved_bytes = 0;  // Held from the system.
  size_t arena_bytes = 0;     // Of these in use: large blocks, and all that became small ones.
};
CpuAllocatorStats GetCpuAllocatorStats();

// Touches the memory that is free now, some 32 MB at least, so that what runs next pays for no page faults: see
// Arena::TouchFree. To be called before times are measured.
void TouchCpuAllocator();

// Gives memory that was not needed lately back to the system; see Arena::Trim. To be called between steps.
void TrimCpuAllocator();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MEMORY_CPU_ALLOCATOR_H_
