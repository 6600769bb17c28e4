#ifndef SLUICE_EXECUTOR_NODE_CALLS_H_
#define SLUICE_EXECUTOR_NODE_CALLS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "executor/node_call.h"

namespace sluice {

// The ItemCalls of one run, taken and put back, and their memory, which the next run of the plan reuses. Owned by the
// run. Not thread-safe: the baton holder's (Note [Baton] in scheduler.h).
class NodeCalls {
 public:
  // Returns an idle call for `run`. Valid as long as this.
  ItemCall* Take(const RunContext& run, uint32_t num_scratch) {
    if (free_ == nullptr) return Make(run, num_scratch);
    ItemCall* const call = std::exchange(free_, static_cast<ItemCall*>(free_->next));
    call->context = KernelContext(run, EntryTables());
    return call;
  }
  // Takes a call back. REQUIRES: returned by Take, and its kernel is done.
  void Put(ItemCall* call) {
    call->status = absl::OkStatus();
    call->next = std::exchange(free_, call);
  }
  // Whether to keep them for another run: some graphs have a great many.
  bool is_small() const { return blocks_.size() <= kMaxKept / kPerBlock; }

 private:
  // A step with one asynchronous node often has many.
  static constexpr size_t kPerBlock = 8;
  static constexpr size_t kMaxKept = 4096;
  using Block = std::array<std::optional<ItemCall>, kPerBlock>;

  ItemCall* Make(const RunContext& run, uint32_t num_scratch) {
    const size_t place = num_made_++ % kPerBlock;
    if (place == 0) blocks_.push_back(std::make_unique<Block>());
    return &(*blocks_.back())[place].emplace(run, num_scratch);
  }

  std::vector<std::unique_ptr<Block>> blocks_;
  size_t num_made_ = 0;  // In all blocks.
  ItemCall* free_ = nullptr;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_NODE_CALLS_H_
