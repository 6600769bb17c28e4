#ifndef SLUICE_KERNELS_LISTS_LIST_INPUTS_H_
#define SLUICE_KERNELS_LISTS_LIST_INPUTS_H_

// Lists among the inputs and outputs of kernels.

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/kernel_context.h"
#include "kernels/lists/tensor_list.h"
#include "kernels/lists/variant_inputs.h"

namespace sluice {

// The list in input `i`. kOpShape unless that is a scalar, kOpValue unless it holds a list.
absl::StatusOr<const TensorList*> ListInput(const KernelContext& context, int i);
// The same, of elements of `dtype`, else kOpValue.
absl::StatusOr<const TensorList*> ListInput(const KernelContext& context, int i, DType dtype);

using OwnList = OwnVariant<TensorList>;
// The list of input `i`, or a copy where others hold it. The input has no value then. REQUIRES: ListInput(i) is OK.
absl::StatusOr<OwnList> TakeList(KernelContext& context, int i);
// A list without elements.
absl::StatusOr<OwnList> NewList(TensorList::Kind kind, const KernelContext& context);

// The shape of elements that input `i` says: -1 alone for an unknown rank, or sizes, -1 for an unknown one.
absl::StatusOr<PartialShape> ElementShapeInput(const KernelContext& context, int i,
                                               absl::string_view name = "element_shape");

// Merges two partly known shapes. kOpShapes if no shape fits both; `what` has the first one.
absl::StatusOr<PartialShape> MergeShapes(const PartialShape& a, const PartialShape& b, absl::string_view what);
// kOpShapes unless an element of `shape` may be in the list.
absl::Status CheckElementShape(const TensorList& list, const Shape& shape);
// kOpValue unless one more element may be pushed.
absl::Status CheckRoom(const TensorList& list);
// kOpValue unless element `index` exists.
absl::Status CheckIndex(const TensorList& list, int64_t index);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LISTS_LIST_INPUTS_H_
