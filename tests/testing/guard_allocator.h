#ifndef SLUICE_TESTS_TESTING_GUARD_ALLOCATOR_H_
#define SLUICE_TESTS_TESTING_GUARD_ALLOCATOR_H_

#include <cstddef>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"
#include "graph/value/allocator.h"

namespace sluice {

// Host memory whose use beyond the end of a block, or after the block was given back, ends the process: for builds
// without AddressSanitizer. Each block has pages of its own, ends where a page that cannot be touched begins (up to the
// alignment; those bytes are looked at when the block comes back), and is out of reach for a while after that.
// Some microseconds a block. Thread-safe.
class GuardAllocator final : public Allocator {
 public:
  GuardAllocator() = default;
  GuardAllocator(const GuardAllocator&) = delete;
  GuardAllocator& operator=(const GuardAllocator&) = delete;
  ~GuardAllocator() override;

  absl::string_view name() const override { return "guard"; }
  void* Allocate(size_t bytes, StreamTag stream) override;
  void Free(void* data, size_t bytes, StreamTag stream) override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  Mutex mu_;
  // Blocks that were given back, oldest first.
  std::deque<std::pair<char*, size_t>> freed_ ABSL_GUARDED_BY(mu_);
};

// `guard`, or HostAllocator() in builds with AddressSanitizer, which sees more. (Never CpuAllocator(), whose blocks lie
// side by side.)
Allocator& GuardedMemory(GuardAllocator& guard);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_GUARD_ALLOCATOR_H_
