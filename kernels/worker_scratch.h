#ifndef SLUICE_KERNELS_WORKER_SCRATCH_H_
#define SLUICE_KERNELS_WORKER_SCRATCH_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "graph/value/tensor.h"
#include "kernels/workers.h"

namespace sluice {

// Scratch memory that a kernel keeps from one call to the next: a member of the kernel. Two calls at the same time
// never share memory: one of them gets its own. Keeps one piece, of kMaxKeptBytes at most, and only memory of the
// host's or the device's allocator, which outlives kernels, as a run's own may not. Thread-safe.
//
// Kernels that run one after the other can share one piece: a keeper without a large enough piece takes that of another
// keeper with the same allocator. All keepers of the process together hold at most kMaxPieces pieces of kMaxBytesInAll;
// the oldest go first.
class ScratchKeeper {
 public:
  static constexpr size_t kMaxKeptBytes = size_t{4} << 20;
  static constexpr size_t kMaxBytesInAll = size_t{32} << 20;
  static constexpr size_t kMaxPieces = 64;

  ScratchKeeper() = default;
  ScratchKeeper(const ScratchKeeper&) = delete;
  ScratchKeeper& operator=(const ScratchKeeper&) = delete;
  ~ScratchKeeper();

  // Bytes that are kept now. For tests.
  size_t kept_bytes() const;

 private:
  friend class WorkerScratch;
  // All keepers with a piece.
  class Keepers;

  // Takes a piece of this or another keeper, if it comes from `allocator` and is large enough; else returns no value.
  Tensor Take(const Allocator& allocator, size_t bytes);
  // Keeps the larger of `memory` and the kept piece, and frees the other.
  void Give(Tensor memory, const Allocator& allocator) noexcept;

  // All guarded by the lock of Keepers.
  Tensor kept_;
  const Allocator* allocator_ = nullptr;  // Of kept_.
  // While something is kept: the keepers in order of the age of their pieces.
  ScratchKeeper* older_ = nullptr;
  ScratchKeeper* newer_ = nullptr;
};

// Memory for each worker of one call, aligned for the widest vectors, not initialised. See Note [Workers].
// One thread makes and destroys it, outside of the shards; of(i) is worker i's.
class WorkerScratch {
 public:
  // For min(workers.count(), num_shards) workers, from the run's allocator. `keeper` (may be null) must outlive this.
  // kOutOfMemory if memory is short or the size overflows. REQUIRES: bytes_per_worker >= 0.
  static absl::StatusOr<WorkerScratch> Make(const Workers& workers, int64_t num_shards, int64_t bytes_per_worker,
                                            ScratchKeeper* keeper);
  WorkerScratch(WorkerScratch&& other) noexcept
      : memory_(std::move(other.memory_)),
        stride_(other.stride_),
        keeper_(std::exchange(other.keeper_, nullptr)),
        allocator_(other.allocator_) {}
  WorkerScratch& operator=(WorkerScratch&&) = delete;
  ~WorkerScratch();

  void* of(int worker) const { return static_cast<char*>(data_of(memory_)) + static_cast<size_t>(worker) * stride_; }

 private:
  WorkerScratch(Tensor memory, size_t stride, ScratchKeeper* keeper, const Allocator* allocator)
      : memory_(std::move(memory)), stride_(stride), keeper_(keeper), allocator_(allocator) {}
  static void* data_of(const Tensor& memory) { return const_cast<void*>(memory.raw_data()); }

  Tensor memory_;
  size_t stride_;  // Bytes from one worker's part to the next.
  ScratchKeeper* keeper_;
  const Allocator* allocator_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_WORKER_SCRATCH_H_
