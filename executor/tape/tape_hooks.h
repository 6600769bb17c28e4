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

// Numbers for lists, in the order in which they get their first hook. Lists of one node are compared only.
inline uint64_t NextHookListOrder() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);  // Relaxed: hooks of one node are added under its mutex.
}

// Hooks of one kind, by the numbers that they were given; numbers of removed ones are not used again.
// Guarded by the node that they belong to. A pass works on a copy, so that hooks may add and remove hooks.
template <typename Hook>
class HookList {
 public:
  using Hooks = std::vector<std::pair<size_t, std::shared_ptr<Hook>>>;

  size_t Add(Hook hook) {
    if (next_ == 0) order_ = NextHookListOrder();
    hooks_.emplace_back(next_, std::make_shared<Hook>(std::move(hook)));
    return next_++;
  }
  // Returns the removed hook, for the caller to free without a lock; null: there is none of this number.
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
  // Larger than that of every list that got its first hook before this one did.
  uint64_t order() const { return order_; }

 private:
  Hooks hooks_;
  size_t next_ = 0;
  uint64_t order_ = 0;
};

// Where the handles of a node's hooks find the node, until it ends. Locked before the node's own mutex. Thread-safe.
class HookHome {
 public:
  using Kind = HookHandle::Kind;

  explicit HookHome(TapeNode* node) : node_(node) {}
  HookHome(const HookHome&) = delete;
  HookHome& operator=(const HookHome&) = delete;

  // The node ends: no handle finds it any more.
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
  // Whether the node has the hook; with `removed` it is moved there.
  static bool Find(NodeHooks& hooks, const HookHandle& handle, std::shared_ptr<void>* removed);

  Mutex mu_;
  TapeNode* node_ ABSL_GUARDED_BY(mu_);  // Null: it has ended.
};

// What a leaf had when its last handle went (FindLeaf in var_state.h gives it back).
struct LeftLeaf {
  bool has_content = false;   // False: nobody could see the leaf any more, and all but requires_grad is unset.
  bool requires_grad = true;  // Whether the leaf did, while it has no handles.
  Tensor value;
  Var grad;  // Only one without a history, which may lead to the node that keeps this.
  // Of a gradient with a history: the variable, as long as others hold it, and its value.
  CountedPtr<VarState> grad_held;
  Tensor grad_value;
};

// All hooks of a node.
struct NodeHooks {
  struct OfOutput {
    HookList<GradHook> hooks;
    CountedPtr<VarState> retains;  // Gets the gradient; null: nobody does.
  };
  std::vector<OfOutput> outputs;  // As many as have some; in the order of the outputs.
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
