#include "kernels/worker_scratch.h"

#include <algorithm>

#include "graph/base/checked_math.h"
#include "graph/base/error.h"
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

size_t ScratchKeeper::kept_bytes() const {
  MutexLock lock(&mu_);
  return kept_.has_value() ? kept_.total_bytes() : 0;
}

Tensor ScratchKeeper::Take(const Allocator& allocator, size_t bytes) {
  MutexLock lock(&mu_);
  if (!kept_.has_value() || allocator_ != &allocator || kept_.total_bytes() < bytes) return Tensor();
  return std::move(kept_);
}

void ScratchKeeper::Give(Tensor memory, const Allocator& allocator) {
  if (memory.total_bytes() > kMaxKeptBytes) return;
  // `memory` is the smaller one at the end, and freed without the lock.
  MutexLock lock(&mu_);
  if (kept_.has_value() && allocator_ == &allocator && kept_.total_bytes() >= memory.total_bytes()) return;
  std::swap(kept_, memory);
  allocator_ = &allocator;
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
