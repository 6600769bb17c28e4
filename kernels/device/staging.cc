#include "kernels/device/staging.h"

#include <new>
#include <utility>

#include "graph/base/check.h"
#include "graph/base/error.h"

namespace sluice {

Staging::~Staging() {
  for (const std::unique_ptr<Block>& block : blocks_) pinned_.Free(block->data(), block_bytes_, kHostStream);
}

Staging::Block* Staging::Make() {
  char* const data = static_cast<char*>(pinned_.Allocate(block_bytes_, kHostStream));
  if (data == nullptr) return nullptr;
  try {
    blocks_.push_back(std::make_unique<Block>(*this, data));
  } catch (const std::bad_alloc&) {
    pinned_.Free(data, block_bytes_, kHostStream);
    return nullptr;
  }
  return blocks_.back().get();
}

absl::StatusOr<Staging::Block*> Staging::TakeOrWait(Waiter* waiter) {
  MutexLock lock(&mu_);
  if (free_ != nullptr && first_ == nullptr) {
    Block* const block = free_;
    free_ = block->next_free_;
    return block;
  }
  if (blocks_.size() < max_blocks_) {
    if (Block* const block = Make()) return block;
  }
  if (blocks_.empty()) return Error(ErrorCode::kOutOfMemory).Text("there is no pinned memory for copies to a device");
  waiter->next_waiting_ = nullptr;
  (first_ == nullptr ? first_ : last_->next_waiting_) = waiter;
  last_ = waiter;
  return nullptr;
}

// Only one thread at a time hands blocks to waiters, so that a waiter that puts its block back at once does not recurse
// into Put.
void Staging::Put(Block* block) noexcept {
  {
    MutexLock lock(&mu_);
    block->next_free_ = std::exchange(free_, block);
    if (is_giving_) return;
    is_giving_ = true;
  }
  for (;;) {
    Waiter* waiter = nullptr;
    Block* given = nullptr;
    {
      MutexLock lock(&mu_);
      if (first_ == nullptr || free_ == nullptr) {
        is_giving_ = false;
        return;
      }
      waiter = first_;
      first_ = waiter->next_waiting_;
      given = free_;
      free_ = given->next_free_;
    }
    waiter->BlockCame(given);
  }
}

size_t Staging::num_blocks() const {
  MutexLock lock(&mu_);
  return blocks_.size();
}

}  // namespace sluice
