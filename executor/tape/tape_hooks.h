#ifndef SLUICE_EXECUTOR_TAPE_TAPE_HOOKS_H_
#define SLUICE_EXECUTOR_TAPE_TAPE_HOOKS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/tape/var.h"
#include "graph/base/mutex.h"
#include "graph/value/counted.h"
#include "graph/value/tensor.h"

namespace sluice {

struct NodeHooks;

// Returns the number of a list that gets its first hook. Only lists of one node are compared.
inline uint64_t NextHookListOrder() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);  // Relaxed: hooks of one node are added under its mutex.
}

// Hooks of one kind, by number; numbers of removed hooks are not used again. Guarded by the node's mutex. A pass works
// on a copy, so that hooks may add and remove hooks.
template <typename Hook>
class HookList {
 public:
  using Hooks = std::vector<std::pair<size_t, std::shared_ptr<Hook>>>;

  size_t Add(Hook hook) {
    if (next_ == 0) order_ = NextHookListOrder();
    hooks_.emplace_back(next_, std::make_shared<Hook>(std::move(hook)));
    return next_++;
  }
  // Returns the removed hook, which the caller frees without a lock; null if there is no such hook.
  std::shared_ptr<Hook> Remove(size_t number) {
    for (auto at = hooks_.begin(); at != hooks_.end(); ++at) {
      if (at->first != number) continue;
      std::shared_ptr<Hook> removed = std::move(at->second);
      hooks_.erase(at);
      return removed;
    }
    return nullptr;
  }
  bool Has(size_t number) const {
    return std::any_of(hooks_.begin(), hooks_.end(), [&](const auto& hook) { return hook.first == number; });
  }
  const Hooks& hooks() const { return hooks_; }
  // Grows with the time of the first hook.
  uint64_t order() const { return order_; }

 private:
  Hooks hooks_;
  size_t next_ = 0;
  uint64_t order_ = 0;
};

// Leads the handles of a node's hooks to the node, until it ends. Locked before the node's mutex. Thread-safe.
class HookHome {
 public:
  using Kind = HookHandle::Kind;

  explicit HookHome(TapeNode* node) : node_(node) {}
  HookHome(const HookHome&) = delete;
  HookHome& operator=(const HookHome&) = delete;

  // The node ends: cuts the handles off.
  void Close() {
    MutexLock lock(&mu_);
    node_ = nullptr;
  }
  static HookHandle HandleOf(const std::shared_ptr<HookHome>& home, Kind kind, uint32_t slot, size_t number) {
    return HookHandle(home, kind, slot, number);
  }
  void Remove(const HookHandle& handle) ABSL_LOCKS_EXCLUDED(mu_);
  bool Has(const HookHandle& handle) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Whether the node has the hook; moves it to `removed` unless that is null.
  static bool Find(NodeHooks& hooks, const HookHandle& handle, std::shared_ptr<void>* removed);

  Mutex mu_;
  TapeNode* node_ ABSL_GUARDED_BY(mu_);  // Null: the node has ended.
};

// The content of a leaf whose last handle has gone; FindLeaf (var_state.h) gives it back. Kept while the leaf has
// accumulate hooks, and while its gradient or the leaf itself is held elsewhere.
struct LeftLeaf {
  bool has_content = false;   // False: all but requires_grad is unset, as the leaf cannot come back.
  bool requires_grad = true;  // Whether the leaf did, while it has no handles.
  Tensor value;
  Var grad;  // Only without a history, which could lead back to the node that keeps this.
  // For a gradient with a history: the variable, while others hold it, and its value.
  CountedPtr<VarState> grad_held;
  Tensor grad_value;
};

// All hooks of a node.
struct NodeHooks {
  struct OfOutput {
    HookList<GradHook> hooks;
    CountedPtr<VarState> retains;  // The variable that gets the gradient; null: none.
  };
  std::vector<OfOutput> outputs;  // Up to the last output that has some.
  HookList<NodePreHook> pre;
  HookList<NodePostHook> post;
  HookList<AccumulateHook> accumulate;
  std::shared_ptr<HookHome> home;  // Set where the node has had a hook.

  bool empty() const {
    return pre.hooks().empty() && post.hooks().empty() && accumulate.hooks().empty() &&
           std::all_of(outputs.begin(), outputs.end(),
                       [](const OfOutput& output) { return output.hooks.hooks().empty() && !output.retains; });
  }
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_TAPE_HOOKS_H_
