#ifndef SLUICE_EXECUTOR_TAPE_CUSTOM_CALL_H_
#define SLUICE_EXECUTOR_TAPE_CUSTOM_CALL_H_

#include <any>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/tape/custom_function.h"
#include "executor/tape/record.h"
#include "executor/tape/tape_node.h"
#include "executor/tape/var.h"
#include "executor/tape/var_state.h"
#include "graph/value/counted.h"

namespace sluice {

// Counts a leaf as saved while it lives; does not keep the leaf's content.
struct LeafSaverEnd {
  void operator()(VarState* leaf) const {
    leaf->DropSaver();
    leaf->Unref();
  }
};
using LeafSaver = std::unique_ptr<VarState, LeafSaverEnd>;

// A variable that a custom function has saved. An output of the call itself is known by its number: the node is its
// history, and must not hold itself.
struct SavedVar {
  SavedValue value;
  TapeEdge history;
  int32_t output = -1;
  bool is_defined = false;
  LeafSaver saver;                   // Of a leaf: Saved returns the leaf itself.
  CountedPtr<TapeNode> accumulator;  // The leaf's, if it had one.
};

// One call of a custom function, which its node keeps. Forward fills it in; passes read it under the node's mutex.
class CustomCall {
 public:
  explicit CustomCall(std::shared_ptr<CustomFunction> f) : function(std::move(f)) {}

  // Runs Forward over `inputs` and gives its outputs their history; returns one failed variable on error.
  static std::vector<Var> Apply(TapeCore& core, const std::shared_ptr<CustomFunction>& function,
                                absl::Span<const Var> inputs);
  // Runs Backward; some of `grads` may be undefined. `node` is the call's; `wants`: inputs whose gradients the pass
  // needs.
  absl::StatusOr<std::vector<Var>> RunBackward(TapeCore& core, TapeNode& node, std::vector<Var> grads, SlotSet wants);
  // Returns what was saved: leaves themselves, and new variables for all others.
  absl::StatusOr<std::vector<Var>> Unpack(TapeCore& core, TapeNode& node) const ABSL_LOCKS_EXCLUDED(node.mu);
  // Returns zeros for an output without a gradient; no value if its type has no zeros.
  absl::StatusOr<Tensor> ZerosOf(size_t slot) const;
  // Moves what was saved to the caller, who frees it without the node's mutex.
  std::vector<SavedVar> Release();

  const std::shared_ptr<CustomFunction> function;
  std::vector<Var> to_save, non_differentiable, dirty;  // In Forward only.
  std::vector<SavedVar> saved;
  std::any state;                          // FunctionContext::State.
  std::vector<GradientMeta> output_metas;  // Type and shape of each, also of those without a gradient.
  bool materializes_grads = true;
  bool is_released = false;

 private:
  absl::StatusOr<std::vector<Var>> RunForward(TapeCore& core, absl::Span<const Var> inputs, SlotSet wants);
  // Checks what Forward gave and said before any variable is changed. `records`: whether outputs get a history.
  absl::Status CheckForward(const TapeCore& core, absl::Span<const Var> inputs, absl::Span<const Var> outputs,
                            bool records) const;
  // Makes `node` the history of the outputs; null: nothing is recorded.
  void WrapOutputs(TapeCore& core, const CountedPtr<TapeNode>& node, absl::Span<const Var> inputs,
                   std::vector<Var>* outputs);
  void WrapOutput(TapeCore& core, const CountedPtr<TapeNode>& node, absl::Span<const Var> inputs, uint32_t slot,
                  Var* output);
  absl::Status Wrong(std::string text) const;
  // A saved variable without a handle: `leaf` and `accumulator` as in SavedVar.
  struct Unpacked {
    TapeValue value;
    CountedPtr<VarState> leaf;
    CountedPtr<TapeNode> accumulator;
  };
  absl::StatusOr<std::vector<Unpacked>> CheckSaved(TapeNode& node) const ABSL_LOCKS_EXCLUDED(node.mu);
  void Save(absl::Span<const Var> outputs);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_CUSTOM_CALL_H_
