#ifndef SLUICE_GRAPH_BASE_BIG_VECTOR_H_
#define SLUICE_GRAPH_BASE_BIG_VECTOR_H_

#include <cstddef>
#include <limits>
#include <new>
#include <vector>

namespace sluice {

// `bytes` of memory, from kBigBytes on aligned to huge pages and, as far as the system grants it, made of them: a
// million nodes are then found through a few dozen entries of the TLB instead of thousands, and filled after a few
// dozen page faults. Throws std::bad_alloc. FreeBig needs the same number.
inline constexpr size_t kBigBytes = size_t{4} << 20;
void* AllocateBig(size_t bytes);
void FreeBig(void* memory, size_t bytes) noexcept;

// Allocates by AllocateBig and FreeBig. Stateless: all are equal.
template <typename T>
class BigAllocator {
 public:
  using value_type = T;
  static_assert(alignof(T) <= alignof(std::max_align_t));

  BigAllocator() = default;
  template <typename U>
  BigAllocator(const BigAllocator<U>&) {}  // NOLINT(google-explicit-constructor): containers convert it.

  T* allocate(size_t count) {
    if (count > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(AllocateBig(count * sizeof(T)));
  }
  void deallocate(T* memory, size_t count) noexcept { FreeBig(memory, count * sizeof(T)); }

  friend bool operator==(const BigAllocator&, const BigAllocator&) { return true; }
  friend bool operator!=(const BigAllocator&, const BigAllocator&) { return false; }
};

// A vector that may hold an element per node of a large graph.
template <typename T>
using BigVector = std::vector<T, BigAllocator<T>>;

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_BIG_VECTOR_H_
