#ifndef SLUICE_GRAPH_VALUE_BUFFER_H_
#define SLUICE_GRAPH_VALUE_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "graph/value/allocator.h"
#include "graph/value/dtype.h"

namespace sluice {

// Counted bytes that tensors share. Starts with a count of 1; the last Unref destroys it. This object is the header of
// its bytes: one cache line right before them in host memory (one allocation for both), else on the host heap.
// Ownership: intrusive count (one of the three shared things of STYLE.md rule 17). Thread-safety: Ref, Unref and
// RefCountIsOne from any thread; only the holder of the only reference may write the bytes.
class alignas(kTensorAlignment) Buffer {
 public:
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // `count` default-constructed elements of `dtype` (plain ones uninitialised), or null when memory is short or the
  // size overflows. Elements that are not plain need an allocator of host memory.
  // REQUIRES: IsSupported(dtype), count >= 0.
  static Buffer* New(DType dtype, int64_t count, Allocator& allocator, StreamTag stream = kHostStream);
  // Memory of the caller, in use until `release` has run. Null only when memory is short (then `release` has run).
  static Buffer* Wrap(void* data, size_t bytes, absl::AnyInvocable<void()> release);
  // The same for an array of TStrings, which are ended before `release` runs.
  static Buffer* WrapStrings(void* data, size_t bytes, absl::AnyInvocable<void()> release);

  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }  // Relaxed: the caller holds a reference already.
  void Unref() {
    // Acquire-release: accesses of other holders happen before the end. A sole holder needs no read-modify-write, since
    // no other thread can add a reference.
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) Destroy();
  }
  // Acquire: accesses of former holders happen before those of the only one.
  bool RefCountIsOne() const { return refs_.load(std::memory_order_acquire) == 1; }

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  StreamTag stream() const { return stream_; }
  // The allocator of the bytes; null for the caller's memory.
  Allocator* allocator() const { return allocator_; }
  // The type of the elements when they are not plain bytes, else kInvalid.
  DType element_dtype() const { return dtype_; }
  // Whether the bytes may be written: false for wrapped read-only memory (files).
  bool writable() const { return writable_; }
  // REQUIRES: not shared between threads yet.
  void MarkReadOnly() { writable_ = false; }

 protected:
  enum class Kind : uint8_t { kJoined, kSeparate, kWrapped };

  explicit Buffer(Kind kind) : kind_(kind) {}
  ~Buffer() = default;

 private:
  // Destroys the elements and frees all memory, this header's included.
  void Destroy();

  std::atomic<int32_t> refs_{1};
  DType dtype_ = DType::kInvalid;  // What to destroy; kInvalid for plain bytes.
  Kind kind_;
  bool writable_ = true;
  StreamTag stream_ = kHostStream;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  Allocator* allocator_ = nullptr;  // Of `data_`; null when wrapped.
};

static_assert(sizeof(Buffer) == kTensorAlignment, "the bytes behind the header are aligned as tensors need");

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_BUFFER_H_
