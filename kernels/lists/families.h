#ifndef SLUICE_KERNELS_LISTS_FAMILIES_H_
#define SLUICE_KERNELS_LISTS_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// One element of a list at a time: EmptyTensorList, TensorListReserve, ...PushBack, ...PopBack, ...GetItem, ...SetItem,
// ...Length, ...Resize, ...ElementShape. Gives lists the functions by which AddN and ZerosLike work on them.
SLUICE_AT_START absl::Span<const KernelRow> ListKernels();
// Elements as rows of a tensor: TensorListStack, ...Gather, ...FromTensor, ...Scatter, ...ScatterV2,
// ...ScatterIntoExistingList, ...Split.
SLUICE_AT_START absl::Span<const KernelRow> ListRowsKernels();
// TensorListConcat, ...ConcatV2, and tensors of lists: ...ConcatLists, ...PushBackBatch.
SLUICE_AT_START absl::Span<const KernelRow> ListConcatKernels();
// EmptyTensorMap, TensorMapSize, ...HasKey, ...Lookup, ...Insert, ...Erase, ...StackKeys. Gives maps such functions,
// too.
SLUICE_AT_START absl::Span<const KernelRow> MapKernels();
// OptionalNone, OptionalFromValue, OptionalHasValue, OptionalGetValue. Gives optionals such functions, too.
SLUICE_AT_START absl::Span<const KernelRow> OptionalKernels();

// Const of values of these types.
SLUICE_AT_START absl::Span<const KernelRow> VariantConstKernels();

// Adds all of them.
SLUICE_AT_START void AddListsKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LISTS_FAMILIES_H_
