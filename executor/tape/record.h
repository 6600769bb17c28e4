#ifndef SLUICE_EXECUTOR_TAPE_RECORD_H_
#define SLUICE_EXECUTOR_TAPE_RECORD_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "executor/tape/eager_op.h"
#include "executor/tape/tape_core.h"
#include "executor/tape/tape_node.h"
#include "executor/tape/var_state.h"

namespace sluice {

// A value and what made it: a variable without a handle.
struct TapeValue {
  Tensor value;
  TapeEdge history;
  // The variable that a saved value was taken from, whose version it still had then; null: none.
  CountedPtr<VarState> var = {};

  bool is_set() const { return value.has_value(); }
};

// An input of a call. Borrowed.
struct OpInput {
  const Tensor* value = nullptr;
  const TapeEdge* history = nullptr;  // Null or unset: no gradient flows to it.
  VarState* var = nullptr;            // The variable that it is read from; null: none.

  static OpInput Of(const TapeValue& value) { return {&value.value, &value.history, value.var.get()}; }
  static OpInput Of(const Var& var) { return {&var.state()->value, &var.state()->history, var.state()}; }
};

// Calls `op` at once and, where this thread records and some input has a history, adds a node for it to the record:
// the outputs then have it as their history. `outputs`: one for each output of the op. On error nothing is recorded.
absl::Status CallOp(TapeCore& core, const std::shared_ptr<const EagerOp>& op, absl::Span<const OpInput> inputs,
                    absl::Span<TapeValue> outputs);
// The same for the op called `name`.
absl::Status CallOp(TapeCore& core, absl::string_view name, const EagerOp::Attrs& attrs,
                    absl::Span<const OpInput> inputs, std::vector<TapeValue>* outputs);

// The op that adds two gradients of this type.
absl::StatusOr<std::shared_ptr<const EagerOp>> FindAdd(EagerOps& ops, DType type);

// A variable for a value that a call has computed. If the call has saved this output, its version is the variable's.
Var VarOf(TapeCore& core, TapeValue value);
// What a call that has failed gives: as many variables as the op has outputs, if that follows from its schema, the
// attrs and the number of inputs, and one otherwise.
std::vector<Var> FailedOutputs(const OpRegistry& ops, absl::string_view op, const EagerOp::Attrs& attrs,
                               size_t num_inputs, const absl::Status& status);
// A variable without history; failed where `value` has no value.
Var ConstantOf(TapeCore& core, Tensor value);
// A variable that gradients are accumulated for.
Var LeafOf(TapeCore& core, Tensor value);
// What `var` has failed with; kTapeUndefined where there is no variable.
absl::Status CheckDefined(const Var& var);
// What `var` has failed with; kTapeForeign for a variable of another tape, whose sequence numbers say nothing here.
absl::Status CheckTape(const TapeCore& core, const Var& var);
// Makes a variable without history a leaf that requires a gradient.
void AddAccumulator(VarState& leaf);

// While it lives, this thread evaluates `node`, and what it records belongs to that. One thread's, on the stack.
class EvaluatedNode {
 public:
  explicit EvaluatedNode(const TapeNode& node) : EvaluatedNode(&node) {}
  explicit EvaluatedNode(const TapeNode* node);  // Null: none.
  EvaluatedNode(const EvaluatedNode&) = delete;
  EvaluatedNode& operator=(const EvaluatedNode&) = delete;
  ~EvaluatedNode();
  static const TapeNode* Current();

 private:
  const TapeNode* const outer_;
};

// Where this thread is, for anomaly detection: its places, the functions that it is in, and the node that it evaluates.
std::shared_ptr<NodeOrigin> PlaceOfThread(absl::string_view what);

// The gradient of one call, from those that the op keeps, or made.
absl::StatusOr<std::shared_ptr<const GradientTemplate>> FindGradient(EagerOps& ops, const OpCall& call, SlotSet wants,
                                                                     SlotSet dys);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_RECORD_H_
