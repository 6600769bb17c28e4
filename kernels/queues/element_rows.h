#ifndef SLUICE_KERNELS_QUEUES_ELEMENT_ROWS_H_
#define SLUICE_KERNELS_QUEUES_ELEMENT_ROWS_H_

// Elements of queues as rows of tensors, and back.

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/kernel_context.h"
#include "kernels/queues/queue_store.h"

namespace sluice {

// Returns `value`, or a copy if it is the host program's memory or a small part of a larger buffer.
absl::StatusOr<Tensor> ToKeep(Tensor value, Allocator& allocator);

// One element for each row of the components. REQUIRES: rank 1 or more, and as many rows in each.
absl::StatusOr<std::vector<QueueElement>> ElementsOf(std::vector<Tensor> components, Allocator& allocator);

// Output `output` becomes component `component` of all elements, one row each; where their shapes differ, each row is
// as large as the largest one along each axis, and zeros or empty strings fill the rest. `shape`: the shape of an
// element, used if there are no elements. REQUIRES: equal dtypes and ranks.
absl::Status StackComponent(KernelContext& context, int output, const std::vector<QueueElement>& elements,
                            size_t component, const PartialShape& shape);

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_ELEMENT_ROWS_H_
