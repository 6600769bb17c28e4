#ifndef SLUICE_EXECUTOR_TAPE_SAVED_VALUES_H_
#define SLUICE_EXECUTOR_TAPE_SAVED_VALUES_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/tape/gradient_template.h"
#include "executor/tape/record.h"
#include "executor/tape/tape_node.h"

namespace sluice {

// Whether a value is an argument of a call as an axis or a shape is, a few integers: kept as long as the node, since
// nothing is won by giving it up. So a gradient that reads no others may be passed again and again.
bool IsArgument(const Tensor& value);

// The gradient of the call that `node` stands for, when these outputs have gradients. kTapeFreed where what it takes
// was given up by an earlier pass; kTapeNoDerivative where the op has none.
absl::StatusOr<std::shared_ptr<const GradientTemplate>> GradientOfNode(EagerOps& ops, const TapeNode& node, SlotSet dys)
    ABSL_LOCKS_EXCLUDED(node.mu);

// Whether TakeSaved would give the values that `gradient` reads, or the error that it would give.
absl::Status CheckSaved(const TapeNode& node, const GradientTemplate& gradient) ABSL_LOCKS_EXCLUDED(node.mu);

// Appends the values that `gradient` reads, with their history, to `values`; with `keeps` false all that the node has
// saved is given up. kTapeFreed where that was done before, kTapeModified where a variable has been assigned since it
// was saved.
absl::Status TakeSaved(TapeNode& node, const GradientTemplate& gradient, bool keeps, std::vector<TapeValue>* values)
    ABSL_LOCKS_EXCLUDED(node.mu);

// Takes the history from values of leaves that have been told since to require no gradient. No lock may be held.
void ForgetFrozen(absl::Span<TapeValue> values);

// For a node of an op that runs though none of its outputs has a gradient: checks what it has saved and gives it up as
// TakeSaved does.
absl::Status PassOver(TapeNode& node, bool keeps) ABSL_LOCKS_EXCLUDED(node.mu);
// Whether PassOver would succeed.
absl::Status CheckPassedOver(const TapeNode& node) ABSL_LOCKS_EXCLUDED(node.mu);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_SAVED_VALUES_H_
