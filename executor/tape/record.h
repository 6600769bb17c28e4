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

// A value and its history: a variable without a handle.
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

// Calls `op` at once. If this thread records and some input has a history, adds a node to the record, as the outputs'
// history. `outputs`: one for each output of the op. On error nothing is recorded.
absl::Status CallOp(TapeCore& core, const std::shared_ptr<const EagerOp>& op, absl::Span<const OpInput> inputs,
                    absl::Span<TapeValue> outputs);
// The same for the op called `name`.
absl::Status CallOp(TapeCore& core, absl::string_view name, const EagerOp::Attrs& attrs,
                    absl::Span<const OpInput> inputs, std::vector<TapeValue>* outputs);

// The op that adds two gradients of this type.
absl::StatusOr<std::shared_ptr<const EagerOp>> FindAdd(EagerOps& ops, DType type);

// Makes a variable for a value that a call has computed. If the call has saved this output, its version is the
// variable's.
Var VarOf(TapeCore& core, TapeValue value);
// Makes the results of a failed call: one for each output of the op, if their number follows from its schema, the attrs
// and the number of inputs, else one.
std::vector<Var> FailedOutputs(const OpRegistry& ops, absl::string_view op, const EagerOp::Attrs& attrs,
                               size_t num_inputs, const absl::Status& status);
// Makes a variable without history; failed if `value` has no value.
Var ConstantOf(TapeCore& core, Tensor value);
// Makes a variable that gradients are accumulated for.
Var LeafOf(TapeCore& core, Tensor value);
// Returns the error that `var` carries; kTapeUndefined for an undefined one.
absl::Status CheckDefined(const Var& var);
// Returns the error that `var` carries; kTapeForeign for another tape's variable, as sequence numbers of two tapes
// cannot be compared.
absl::Status CheckTape(const TapeCore& core, const Var& var);
// Makes a variable without history a leaf that requires a gradient.
void AddAccumulator(VarState& leaf);

// While it lives, this thread evaluates `node`, the parent of nodes that it records. One thread's, on the stack.
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

// Describes where this thread is, for anomaly detection: its places, its call stack, and the node that it evaluates.
std::shared_ptr<NodeOrigin> PlaceOfThread(absl::string_view what);

// Finds the gradient of one call among those that the op keeps, or makes it.
absl::StatusOr<std::shared_ptr<const GradientTemplate>> FindGradient(EagerOps& ops, const OpCall& call, SlotSet wants,
                                                                     SlotSet dys);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_RECORD_H_
