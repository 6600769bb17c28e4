#include "kernels/worker_scratch.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/base/status_macros.h"
#include "kernels/device/device.h"

namespace sluice {
namespace {

constexpr int64_t kAlignment = static_cast<int64_t>(kTensorAlignment);

// Whether memory of the workers' allocator may stay with a kernel: see ScratchKeeper.
bool MayBeKept(const Workers& workers) {
  const Allocator* const allocator = &workers.allocator();
  return allocator == &HostAllocator() || (workers.device() != nullptr && allocator == &workers.device()->allocator());
}

}  // namespace

// One list for the process: what keepers hold and how they are linked changes under its lock only, and no memory is
// freed under it.
class ScratchKeeper::Keepers {
 public:
  static Keepers& Global() {
    // Never destroyed, and made without memory: destructors of kernels come here.
    alignas(Keepers) static unsigned char place[sizeof(Keepers)];
    static Keepers* const keepers = ::new (static_cast<void*>(place)) Keepers();
    return *keepers;
  }

  size_t BytesOf(const ScratchKeeper& keeper) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return keeper.kept_.has_value() ? keeper.kept_.total_bytes() : 0;
  }

  // Takes the piece of `keeper` if it is large enough, else the smallest piece that is.
  Tensor Take(ScratchKeeper* keeper, const Allocator& allocator, size_t bytes) ABSL_LOCKS_EXCLUDED(mu_) {
    const auto is_enough = [&](const ScratchKeeper& k) {
      return k.kept_.has_value() && k.allocator_ == &allocator && k.kept_.total_bytes() >= bytes;
    };
    MutexLock lock(&mu_);
    if (is_enough(*keeper)) return Remove(keeper);
    ScratchKeeper* best = nullptr;
    for (ScratchKeeper* k = oldest_; k != nullptr; k = k->newer_) {
      if (is_enough(*k) && (best == nullptr || k->kept_.total_bytes() < best->kept_.total_bytes())) best = k;
    }
    return best != nullptr ? Remove(best) : Tensor();
  }

  Tensor TakeAll(ScratchKeeper* keeper) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return keeper->kept_.has_value() ? Remove(keeper) : Tensor();
  }

  // Leaves the larger piece with `keeper`; returns the other one.
  Tensor Put(ScratchKeeper* keeper, Tensor memory, const Allocator& allocator) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    Tensor old;
    if (keeper->kept_.has_value()) {
      if (keeper->allocator_ == &allocator && keeper->kept_.total_bytes() >= memory.total_bytes()) return memory;
      old = Remove(keeper);
    }
    bytes_ += memory.total_bytes();
    ++count_;
    keeper->kept_ = std::move(memory);
    keeper->allocator_ = &allocator;
    keeper->older_ = newest_;
    keeper->newer_ = nullptr;
    (newest_ != nullptr ? newest_->newer_ : oldest_) = keeper;
    newest_ = keeper;
    return old;
  }

  // The oldest piece, where there are more than may be kept.
  Tensor TakeBeyondLimit() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return bytes_ > kMaxBytesInAll || count_ > kMaxPieces ? Remove(oldest_) : Tensor();
  }

 private:
  Tensor Remove(ScratchKeeper* keeper) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    bytes_ -= keeper->kept_.total_bytes();
    --count_;
    (keeper->older_ != nullptr ? keeper->older_->newer_ : oldest_) = keeper->newer_;
    (keeper->newer_ != nullptr ? keeper->newer_->older_ : newest_) = keeper->older_;
    keeper->older_ = keeper->newer_ = nullptr;
    return std::exchange(keeper->kept_, Tensor());
  }

  Mutex mu_;
  ScratchKeeper* oldest_ ABSL_GUARDED_BY(mu_) = nullptr;
  ScratchKeeper* newest_ ABSL_GUARDED_BY(mu_) = nullptr;
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  size_t count_ ABSL_GUARDED_BY(mu_) = 0;
};

ScratchKeeper::~ScratchKeeper() { Keepers::Global().TakeAll(this); }

size_t ScratchKeeper::kept_bytes() const { return Keepers::Global().BytesOf(*this); }

Tensor ScratchKeeper::Take(const Allocator& allocator, size_t bytes) {
  return Keepers::Global().Take(this, allocator, bytes);
}

void ScratchKeeper::Give(Tensor memory, const Allocator& allocator) noexcept {
  if (memory.total_bytes() > kMaxKeptBytes) return;
  Keepers& keepers = Keepers::Global();
  memory = keepers.Put(this, std::move(memory), allocator);
  do {
    memory = keepers.TakeBeyondLimit();
  } while (memory.has_value());
}

absl::StatusOr<WorkerScratch> WorkerScratch::Make(const Workers& workers, int64_t num_shards, int64_t bytes_per_worker,
                                                  ScratchKeeper* keeper) {
  const int64_t count = std::max<int64_t>(1, std::min<int64_t>(workers.count(), num_shards));
  int64_t rounded = 0;
  int64_t total = 0;
  if (!CheckedAdd(bytes_per_worker, kAlignment - 1, &rounded) ||
      !CheckedMul(rounded / kAlignment * kAlignment, count, &total)) {
    return Error(ErrorCode::kOutOfMemory).Text("scratch memory for a kernel: more bytes than can be counted");
  }
  const size_t stride = static_cast<size_t>(rounded / kAlignment * kAlignment);
  const Allocator* const allocator = &workers.allocator();
  if (keeper != nullptr && !MayBeKept(workers)) keeper = nullptr;
  if (keeper != nullptr) {
    Tensor kept = keeper->Take(*allocator, static_cast<size_t>(total));
    if (kept.has_value()) return WorkerScratch(std::move(kept), stride, keeper, allocator);
  }
  // Never so small that it would lie in the tensor itself, where it is not aligned.
  const int64_t bytes = std::max(total, kAlignment);
  SLUICE_ASSIGN_OR_RETURN(Tensor memory, Tensor::Make(DType::kUInt8, Shape::Of({bytes}), workers.allocator()));
  return WorkerScratch(std::move(memory), stride, keeper, allocator);
}

WorkerScratch::~WorkerScratch() {
  if (keeper_ != nullptr && memory_.has_value()) keeper_->Give(std::move(memory_), *allocator_);
}

}  // namespace sluice
