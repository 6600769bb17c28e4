#ifndef SLUICE_KERNELS_ARRAY_TOLERANT_SORT_H_
#define SLUICE_KERNELS_ARRAY_TOLERANT_SORT_H_

// Sorting and heaps for comparisons that are not a strict weak order, because a value is NaN. The standard library
// promises nothing for such a comparison. These functions take the steps that the GNU standard library takes, one by
// one, and never leave the range: with a strict weak order the range ends up sorted, without one it ends up as
// TensorFlow leaves it. `less(a, b)` is called with elements of the range only.

#include <cstddef>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace sluice {
namespace tolerant_sort_internal {

inline constexpr ptrdiff_t kInsertionSortSize = 16;

// Moves `value` up from `hole` to below the first parent that is not less, at most to `top`.
template <typename T, typename Less>
void SiftUp(T* first, ptrdiff_t hole, ptrdiff_t top, T value, const Less& less) {
  for (ptrdiff_t parent = (hole - 1) / 2; hole > top && less(first[parent], value); parent = (hole - 1) / 2) {
    first[hole] = first[parent];
    hole = parent;
  }
  first[hole] = value;
}

// Puts `value` into a heap of `size` elements whose place `hole` is free.
template <typename T, typename Less>
void FillHole(T* first, ptrdiff_t hole, ptrdiff_t size, T value, const Less& less) {
  const ptrdiff_t top = hole;
  ptrdiff_t child = hole;
  while (child < (size - 1) / 2) {
    child = 2 * (child + 1);
    if (less(first[child], first[child - 1])) --child;
    first[hole] = first[child];
    hole = child;
  }
  if (size % 2 == 0 && child == (size - 2) / 2) {
    child = 2 * child + 1;
    first[hole] = first[child];
    hole = child;
  }
  SiftUp(first, hole, top, value, less);
}

// Swaps the median of *a, *b and *c to *to.
template <typename T, typename Less>
void MoveMedianTo(T* to, T* a, T* b, T* c, const Less& less) {
  if (less(*a, *b)) {
    std::swap(*to, less(*b, *c) ? *b : less(*a, *c) ? *c : *a);
  } else {
    std::swap(*to, less(*a, *c) ? *a : less(*b, *c) ? *c : *b);
  }
}

// Parts [first, last) at a pivot; the begin of the second part.
template <typename T, typename Less>
T* Partition(T* first, T* last, const Less& less) {
  MoveMedianTo(first, first + 1, first + (last - first) / 2, last - 1, less);
  T* const pivot = first;
  T* const begin = first + 1;
  T* const end = last;
  for (first = begin;;) {
    while (first < end && less(*first, *pivot)) ++first;
    --last;
    while (last > pivot && less(*pivot, *last)) --last;
    if (first >= last) return first;
    std::swap(*first++, *last);
  }
}

// Moves *at down to where no element before it is greater, at most to `first`.
template <typename T, typename Less>
void Insert(T* first, T* at, const Less& less) {
  const T value = *at;
  for (; at > first && less(value, at[-1]); --at) *at = at[-1];
  *at = value;
}

template <typename T, typename Less>
void InsertionSort(T* first, T* last, const Less& less) {
  if (first == last) return;
  for (T* at = first + 1; at != last; ++at) {
    if (less(*at, *first)) {
      const T value = *at;
      for (T* to = at; to != first; --to) *to = to[-1];
      *first = value;
    } else {
      Insert(first, at, less);
    }
  }
}

inline int DepthLimit(ptrdiff_t size) {
  int levels = 0;
  for (; size > 1; size /= 2) ++levels;
  return 2 * levels;
}

}  // namespace tolerant_sort_internal

// Makes a heap with the greatest element first.
template <typename T, typename Less>
void TolerantMakeHeap(absl::Span<T> heap, const Less& less) {
  const ptrdiff_t size = static_cast<ptrdiff_t>(heap.size());
  for (ptrdiff_t at = (size - 2) / 2; size >= 2 && at >= 0; --at) {
    tolerant_sort_internal::FillHole(heap.data(), at, size, heap.data()[at], less);
  }
}

// Moves the first element of a heap behind the others, which are a heap then.
template <typename T, typename Less>
void TolerantPopHeap(absl::Span<T> heap, const Less& less) {
  if (heap.size() < 2) return;
  const T value = heap.back();
  heap.back() = heap.front();
  tolerant_sort_internal::FillHole(heap.data(), 0, static_cast<ptrdiff_t>(heap.size()) - 1, value, less);
}

// Takes the last element into the heap of the others.
template <typename T, typename Less>
void TolerantPushHeap(absl::Span<T> heap, const Less& less) {
  const ptrdiff_t last = static_cast<ptrdiff_t>(heap.size()) - 1;
  if (last >= 0) tolerant_sort_internal::SiftUp(heap.data(), last, ptrdiff_t{0}, heap.back(), less);
}

// Sorts a heap.
template <typename T, typename Less>
void TolerantSortHeap(absl::Span<T> heap, const Less& less) {
  for (; heap.size() > 1; heap.remove_suffix(1)) TolerantPopHeap(heap, less);
}

// std::sort.
template <typename T, typename Less>
void TolerantSort(absl::Span<T> values, const Less& less) {
  using namespace tolerant_sort_internal;  // NOLINT(google-build-using-namespace): its parts, in this function only.
  struct Range {
    T* first;
    T* last;
    int depth;
  };
  T* const begin = values.data();
  T* const end = begin + values.size();
  // The stack of parts still to sort: each is at most half as large as the one before, or the depth limit ends it
  // first.
  absl::InlinedVector<Range, 64> ranges = {{begin, end, DepthLimit(end - begin)}};
  while (!ranges.empty()) {
    Range range = ranges.back();
    ranges.pop_back();
    if (range.last - range.first <= kInsertionSortSize) continue;
    if (range.depth == 0) {
      const absl::Span<T> rest(range.first, static_cast<size_t>(range.last - range.first));
      TolerantMakeHeap(rest, less);
      TolerantSortHeap(rest, less);
      continue;
    }
    T* const cut = Partition(range.first, range.last, less);
    ranges.push_back({range.first, cut, range.depth - 1});
    ranges.push_back({cut, range.last, range.depth - 1});
  }
  T* const unsorted = end - begin > kInsertionSortSize ? begin + kInsertionSortSize : end;
  InsertionSort(begin, unsorted, less);
  for (T* at = unsorted; at != end; ++at) Insert(begin, at, less);
}

// std::nth_element: what comes to position `n` of a sorted range is put there. REQUIRES: n < values.size().
template <typename T, typename Less>
void TolerantSelect(absl::Span<T> values, size_t n, const Less& less) {
  using namespace tolerant_sort_internal;  // NOLINT(google-build-using-namespace): its parts, in this function only.
  T* first = values.data();
  T* last = first + values.size();
  T* const nth = first + n;
  for (int depth = DepthLimit(last - first); last - first > 3; --depth) {
    if (depth == 0) {
      const absl::Span<T> heap(first, static_cast<size_t>(nth + 1 - first));
      TolerantMakeHeap(heap, less);
      for (T* at = nth + 1; at != last; ++at) {
        if (!less(*at, *first)) continue;
        const T value = *at;
        *at = *first;
        FillHole(first, 0, static_cast<ptrdiff_t>(heap.size()), value, less);
      }
      std::swap(*first, *nth);
      return;
    }
    T* const cut = Partition(first, last, less);
    (cut <= nth ? first : last) = cut;
  }
  InsertionSort(first, last, less);
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_TOLERANT_SORT_H_
