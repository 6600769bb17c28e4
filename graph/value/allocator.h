#ifndef SLUICE_GRAPH_VALUE_ALLOCATOR_H_
#define SLUICE_GRAPH_VALUE_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// The stream that may use a piece of memory. 0: the host, at once.
using StreamTag = uint32_t;
inline constexpr StreamTag kHostStream = 0;

// Alignment of tensor buffers: a cache line, and the widest vector.
inline constexpr size_t kTensorAlignment = 64;

// Gives tensors their memory. Implementations live in kernels/memory; a plain host one is HostAllocator().
// Thread-safety: all methods from any thread.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual absl::string_view name() const = 0;
  // Whether the CPU can access this memory. If not, nothing is ever stored inline or beside the data.
  virtual bool IsHostMemory() const { return true; }
  // Returns at least `bytes` bytes aligned to kTensorAlignment for use on `stream`, or null without memory (never
  // throws, never waits). `bytes` may be 0.
  virtual void* Allocate(size_t bytes, StreamTag stream) = 0;
  // Frees what Allocate(bytes, ...) returned, after the work queued on `stream` so far.
  virtual void Free(void* data, size_t bytes, StreamTag stream) = 0;
};

// The plain host allocator: aligned heap memory, no caching. Lives for ever.
Allocator& HostAllocator();

// Bytes of HostAllocator() that are not freed. For leak tests.
int64_t HostAllocatorLiveBytes();

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_ALLOCATOR_H_
