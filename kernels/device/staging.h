#ifndef SLUICE_KERNELS_DEVICE_STAGING_H_
#define SLUICE_KERNELS_DEVICE_STAGING_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "graph/base/mutex.h"
#include "graph/value/allocator.h"
#include "kernels/device/event_waiter.h"

namespace sluice {

// The pinned host memory of a device, through which values are copied: up to `max_blocks` blocks of one size, allocated
// when first needed and freed by the destructor. Thread-safe.
class Staging {
 public:
  // One block. Its taker owns it until Put, or until the event named in Put.
  class Block final : private EventWaiter::Task {
   public:
    Block(Staging& pool, char* data) : pool_(pool), data_(data) {}

    char* data() const { return data_; }
    void Put() noexcept { pool_.Put(this); }
    // When `event` has come; null: now.
    void PutAfter(EventWaiter& events, CountedPtr<Event> event) noexcept {
      if (!event) return Put();
      events.Add(std::move(event), this);
    }

   private:
    friend class Staging;
    void EventHasCome() noexcept override { Put(); }

    Staging& pool_;
    char* const data_;
    Block* next_free_ = nullptr;
  };
  // A copy that waits for a block. Borrowed until BlockCame is called.
  class Waiter {
   public:
    // On the thread that has put the block back; must not wait.
    virtual void BlockCame(Block* block) noexcept = 0;

   protected:
    ~Waiter() = default;

   private:
    friend class Staging;
    Waiter* next_waiting_ = nullptr;
  };

  // `pinned` outlives this. REQUIRES: block_bytes, max_blocks > 0.
  Staging(Allocator& pinned, size_t block_bytes, size_t max_blocks)
      : pinned_(pinned), block_bytes_(block_bytes), max_blocks_(max_blocks) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  // REQUIRES: all blocks are back.
  ~Staging();

  size_t block_bytes() const { return block_bytes_; }
  // Returns a block; or null, and `waiter` receives one later. kOutOfMemory if no block could be allocated.
  absl::StatusOr<Block*> TakeOrWait(Waiter* waiter) ABSL_LOCKS_EXCLUDED(mu_);
  // Blocks that exist, in use or not.
  size_t num_blocks() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Put(Block* block) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  // A new one, or null when there is no memory.
  Block* Make() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Allocator& pinned_;
  const size_t block_bytes_;
  const size_t max_blocks_;
  mutable Mutex mu_;
  std::vector<std::unique_ptr<Block>> blocks_ ABSL_GUARDED_BY(mu_);
  Block* free_ ABSL_GUARDED_BY(mu_) = nullptr;
  Waiter* first_ ABSL_GUARDED_BY(mu_) = nullptr;  // Oldest first.
  Waiter* last_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool is_giving_ ABSL_GUARDED_BY(mu_) = false;  // A thread is handing blocks to waiters.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_DEVICE_STAGING_H_
