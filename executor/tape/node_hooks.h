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

// The hooks of one node as they were when its turn in a pass came. Calls them in the order in which they were added,
// turns what they throw into errors, and checks what they give. Keeps the hooks alive; one thread's.
class HookCalls {
 public:
  HookCalls(TapeCore& core, const TapeNode& node) ABSL_LOCKS_EXCLUDED(node.mu);

  // Hooks of outputs, for those gradients that are there: as in PyTorch output by output, the one that got a hook first
  // comes first. Then keeps the retained ones, also for variables that retain theirs since a hook was called.
  absl::Status CallGradHooks(absl::Span<TapeValue> grads);
  absl::Status CallPreHooks(absl::Span<TapeValue> grads);
  absl::Status CallPostHooks(std::vector<TapeValue>* input_grads, absl::Span<const TapeValue> output_grads);
  absl::Status CallAccumulateHooks(const Var& leaf);
  bool has_post_hooks() const { return !post_.empty(); }

 private:
  // The hooks of one output.
  struct OfOutput {
    size_t slot = 0;
    uint64_t order = 0;
    HookList<GradHook>::Hooks hooks;
  };

  std::vector<Var> VarsOf(absl::Span<const TapeValue> values) const;
  absl::Status Replace(std::vector<Var> replacements, absl::Span<TapeValue> grads, bool of_inputs) const;
  absl::Status Retain(VarState& var, const TapeValue& grad) const;

  TapeCore& core_;
  const TapeNode& node_;
  absl::Status CallHooksOf(const OfOutput& output, TapeValue* grad);
  absl::Status RetainGrads(absl::Span<const TapeValue> grads) ABSL_LOCKS_EXCLUDED(node_.mu);

  std::vector<OfOutput> outputs_;  // In the order in which outputs got their first hook.
  HookList<NodePreHook>::Hooks pre_;
  HookList<NodePostHook>::Hooks post_;
  HookList<AccumulateHook>::Hooks accumulate_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_NODE_HOOKS_H_
