#ifndef SLUICE_EXECUTOR_TAPE_NODE_HOOKS_H_
#define SLUICE_EXECUTOR_TAPE_NODE_HOOKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executor/tape/record.h"
#include "executor/tape/tape_core.h"
#include "executor/tape/tape_node.h"

namespace sluice {

// The hooks of one node whose turn in a pass has come. Calls them in the order in which they were added, turns what
// they throw into errors, and checks what they give. As in PyTorch each list (of one output, or of one kind) is looked
// at when it is called: what a hook adds to a later list, or removes from it, counts at once. One thread's.
class HookCalls {
 public:
  HookCalls(TapeCore& core, TapeNode& node) : core_(core), node_(node) {}

  // Whether there may be hooks to call now.
  bool has_hooks() const { return node_.has_hooks.load(std::memory_order_relaxed); }

  // Calls the hooks of outputs, which see an undefined variable if an output has no gradient: as in PyTorch output by
  // output, the one that got a hook first comes first. Then keeps the gradients of variables that retain theirs, even
  // if a hook made them do so.
  absl::Status CallGradHooks(absl::Span<TapeValue> grads);
  absl::Status CallPreHooks(absl::Span<TapeValue> grads);
  absl::Status CallPostHooks(std::vector<TapeValue>* input_grads, absl::Span<const TapeValue> output_grads);
  absl::Status CallAccumulateHooks(const Var& leaf);
  bool has_post_hooks() const { return has_hooks() && !Listed(&NodeHooks::post).empty(); }

 private:
  // Returns the present hooks of one kind, kept alive.
  template <typename Hook>
  typename HookList<Hook>::Hooks Listed(HookList<Hook> NodeHooks::*list) const ABSL_LOCKS_EXCLUDED(node_.mu) {
    MutexLock lock(&node_.mu);
    return node_.hooks != nullptr ? ((*node_.hooks).*list).hooks() : typename HookList<Hook>::Hooks();
  }
  // Returns those of one output.
  HookList<GradHook>::Hooks OfOutput(size_t slot) const ABSL_LOCKS_EXCLUDED(node_.mu);
  // Returns the outputs with hooks, in the order in which they got their first one.
  std::vector<size_t> OutputsWithHooks() const ABSL_LOCKS_EXCLUDED(node_.mu);
  std::vector<Var> VarsOf(absl::Span<const TapeValue> values) const;
  absl::Status Replace(std::vector<Var> replacements, absl::Span<TapeValue> grads, bool of_inputs) const;
  absl::Status Retain(VarState& var, const TapeValue& grad) const;

  absl::Status CallHooksOf(size_t slot, TapeValue* grad);
  absl::Status RetainGrads(absl::Span<const TapeValue> grads) ABSL_LOCKS_EXCLUDED(node_.mu);

  TapeCore& core_;
  TapeNode& node_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_NODE_HOOKS_H_
