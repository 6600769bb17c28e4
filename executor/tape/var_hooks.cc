// Hooks of variables and nodes, their handles, and retained gradients.

#include <memory>
#include <utility>

#include "executor/tape/record.h"
#include "executor/tape/tape_hooks.h"
#include "executor/tape/tape_node.h"
#include "executor/tape/var.h"
#include "executor/tape/var_state.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

absl::Status EmptyHook() { return Error(ErrorCode::kTapeHook).Text("the hook is empty"); }
absl::Status NeedsNoGrad(absl::string_view text) { return Error(ErrorCode::kTapeNeedsNoGrad).Text(text); }
absl::Status UndefinedNode() { return Error(ErrorCode::kTapeUndefined).Text("an undefined node has no hooks"); }

// Returns the hooks of a node, which it creates if needed. REQUIRES: its mutex is held.
NodeHooks& HooksOf(TapeNode& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(node.mu) {
  if (node.hooks == nullptr) node.hooks = std::make_unique<NodeHooks>();
  if (node.hooks->home == nullptr) node.hooks->home = std::make_shared<HookHome>(&node);
  node.has_hooks.store(true, std::memory_order_relaxed);
  return *node.hooks;
}

NodeHooks::OfOutput& HooksOfOutput(const TapeEdge& edge) ABSL_EXCLUSIVE_LOCKS_REQUIRED(edge.node->mu) {
  NodeHooks& hooks = HooksOf(*edge.node);
  if (hooks.outputs.size() <= edge.slot) hooks.outputs.resize(edge.slot + 1);
  return hooks.outputs[edge.slot];
}

// Finds a hook in the list of its kind; moves it to `removed` unless that is null.
template <typename List>
bool FindIn(List& list, size_t number, std::shared_ptr<void>* removed) {
  if (removed == nullptr) return list.Has(number);
  *removed = list.Remove(number);
  return *removed != nullptr;
}

}  // namespace

// --- Handles ---------------------------------------------------------------------------------------------------------

bool HookHome::Find(NodeHooks& hooks, const HookHandle& handle, std::shared_ptr<void>* removed) {
  switch (handle.kind_) {
    case Kind::kGrad:
      return handle.slot_ < hooks.outputs.size() && FindIn(hooks.outputs[handle.slot_].hooks, handle.number_, removed);
    case Kind::kPre:
      return FindIn(hooks.pre, handle.number_, removed);
    case Kind::kPost:
      return FindIn(hooks.post, handle.number_, removed);
    case Kind::kAccumulate:
      return FindIn(hooks.accumulate, handle.number_, removed);
  }
  return false;
}

void HookHome::Remove(const HookHandle& handle) {
  // Freed after the locks: its destructor is the user's code.
  std::shared_ptr<void> removed;
  LeftLeaf unseen;
  MutexLock lock(&mu_);
  if (node_ == nullptr) return;
  MutexLock node_lock(&node_->mu);
  if (node_->hooks == nullptr || !Find(*node_->hooks, handle, &removed)) return;
  unseen = TakeUnseen(*node_);
  node_->has_hooks.store(!node_->hooks->empty(), std::memory_order_relaxed);
}

bool HookHome::Has(const HookHandle& handle) {
  MutexLock lock(&mu_);
  if (node_ == nullptr) return false;
  MutexLock node_lock(&node_->mu);
  return node_->hooks != nullptr && Find(*node_->hooks, handle, nullptr);
}

void HookHandle::Remove() {
  const std::shared_ptr<HookHome> home = home_.lock();
  if (home != nullptr) home->Remove(*this);
}

bool HookHandle::is_added() const {
  const std::shared_ptr<HookHome> home = home_.lock();
  return home != nullptr && home->Has(*this);
}

// --- Nodes -----------------------------------------------------------------------------------------------------------

absl::StatusOr<HookHandle> NodeRef::AddPreHook(NodePreHook hook) {
  if (!node_) return UndefinedNode();
  if (hook == nullptr) return EmptyHook();
  MutexLock lock(&node_->mu);
  NodeHooks& hooks = HooksOf(*node_);
  return HookHome::HandleOf(hooks.home, HookHome::Kind::kPre, 0, hooks.pre.Add(std::move(hook)));
}

absl::StatusOr<HookHandle> NodeRef::AddPostHook(NodePostHook hook) {
  if (!node_) return UndefinedNode();
  if (hook == nullptr) return EmptyHook();
  MutexLock lock(&node_->mu);
  NodeHooks& hooks = HooksOf(*node_);
  return HookHome::HandleOf(hooks.home, HookHome::Kind::kPost, 0, hooks.post.Add(std::move(hook)));
}

// --- Variables -------------------------------------------------------------------------------------------------------

absl::StatusOr<HookHandle> Var::AddHook(GradHook hook) {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  if (!requires_grad()) return NeedsNoGrad("a variable that requires no gradient has no hooks");
  if (hook == nullptr) return EmptyHook();
  const TapeEdge& edge = state_->history;
  MutexLock lock(&edge.node->mu);
  const size_t number = HooksOfOutput(edge).hooks.Add(std::move(hook));
  return HookHome::HandleOf(edge.node->hooks->home, HookHome::Kind::kGrad, edge.slot, number);
}

absl::StatusOr<HookHandle> Var::AddAccumulateHook(AccumulateHook hook) {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  if (!requires_grad() || !is_leaf()) return NeedsNoGrad("only leaves that require a gradient accumulate one");
  if (hook == nullptr) return EmptyHook();
  MutexLock lock(&state_->history.node->mu);
  NodeHooks& hooks = HooksOf(*state_->history.node);
  return HookHome::HandleOf(hooks.home, HookHome::Kind::kAccumulate, 0, hooks.accumulate.Add(std::move(hook)));
}

absl::Status Var::RetainGrad() {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  if (!requires_grad()) return NeedsNoGrad("a variable that requires no gradient cannot retain one");
  if (is_leaf()) return absl::OkStatus();
  MutexLock lock(&state_->history.node->mu);
  HooksOfOutput(state_->history).retains = CountedPtr<VarState>::Share(state_);
  return absl::OkStatus();
}

bool Var::retains_grad() const {
  if (!requires_grad() || is_leaf()) return false;
  MutexLock lock(&state_->history.node->mu);
  const NodeHooks* const hooks = state_->history.node->hooks.get();
  return hooks != nullptr && hooks->outputs.size() > state_->history.slot &&
         hooks->outputs[state_->history.slot].retains.get() == state_;
}

void Var::ForgetRetained(const TapeEdge& edge) {
  CountedPtr<VarState> forgotten;
  MutexLock lock(&edge.node->mu);
  if (edge.node->hooks == nullptr || edge.slot >= edge.node->hooks->outputs.size()) return;
  std::swap(edge.node->hooks->outputs[edge.slot].retains, forgotten);
  edge.node->has_hooks.store(!edge.node->hooks->empty(), std::memory_order_relaxed);
}

}  // namespace sluice
