#ifndef SLUICE_KERNELS_MEMORY_CONTAINER_ALLOCATOR_H_
#define SLUICE_KERNELS_MEMORY_CONTAINER_ALLOCATOR_H_

#include <cstddef>
#include <limits>
#include <new>

#include "graph/value/allocator.h"

namespace sluice {

// Lets a standard container lie in memory of an Allocator, so that it counts against the limit of a session. Throws
// std::bad_alloc if memory runs out. Borrows the Allocator, whose memory must be the host's. A small value.
//
//   std::vector<Row, ContainerAllocator<Row>> rows(n, ContainerAllocator<Row>(context.allocator()));
template <typename T>
class ContainerAllocator {
 public:
  using value_type = T;

  explicit ContainerAllocator(Allocator& allocator) : allocator_(&allocator) {}
  template <typename U>
  ContainerAllocator(const ContainerAllocator<U>& other)  // NOLINT(google-explicit-constructor): containers rebind.
      : allocator_(&other.allocator()) {}

  T* allocate(size_t count) {
    static_assert(alignof(T) <= kTensorAlignment, "blocks are aligned to kTensorAlignment");
    if (count > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_alloc();
    void* const memory = allocator_->Allocate(count * sizeof(T), kHostStream);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) { allocator_->Free(memory, count * sizeof(T), kHostStream); }

  Allocator& allocator() const { return *allocator_; }
  template <typename U>
  bool operator==(const ContainerAllocator<U>& other) const {
    return allocator_ == &other.allocator();
  }
  template <typename U>
  bool operator!=(const ContainerAllocator<U>& other) const {
    return !(*this == other);
  }

 private:
  Allocator* allocator_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_MEMORY_CONTAINER_ALLOCATOR_H_
