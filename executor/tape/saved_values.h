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

// Whether a value is an argument like an axis or a shape: a few integers, kept as long as the node. So passes may go
// again and again through a gradient that reads no other values.
bool IsArgument(const Tensor& value);

// Returns the gradient of the call that `node` records, for these outputs with gradients. kTapeFreed if an earlier pass
// released the values that it reads; kTapeNoDerivative if the op has none.
absl::StatusOr<std::shared_ptr<const GradientTemplate>> GradientOfNode(EagerOps& ops, const TapeNode& node, SlotSet dys)
    ABSL_LOCKS_EXCLUDED(node.mu);

// Returns the error that TakeSaved would return, changing nothing.
absl::Status CheckSaved(const TapeNode& node, const GradientTemplate& gradient) ABSL_LOCKS_EXCLUDED(node.mu);

// Appends the values that `gradient` reads, with their history, to `values`; with `keeps` false, releases all that the
// node has saved. kTapeFreed if that was done before, kTapeModified if a variable has been assigned since it was saved.
absl::Status TakeSaved(TapeNode& node, const GradientTemplate& gradient, bool keeps, std::vector<TapeValue>* values)
    ABSL_LOCKS_EXCLUDED(node.mu);

// Drops the history of values whose leaf no longer requires a gradient. No lock may be held.
void ForgetFrozen(absl::Span<TapeValue> values);

// For the node of an op, none of whose outputs got a gradient: checks its saved values and releases them as TakeSaved
// does.
absl::Status PassOver(TapeNode& node, bool keeps) ABSL_LOCKS_EXCLUDED(node.mu);
// Returns the error that PassOver would return, changing nothing.
absl::Status CheckPassedOver(const TapeNode& node) ABSL_LOCKS_EXCLUDED(node.mu);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_SAVED_VALUES_H_
