#ifndef SLUICE_KERNELS_SPARSE_FAMILIES_H_
#define SLUICE_KERNELS_SPARSE_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// How often numbers occur: Bincount, DenseBincount, SparseBincount, RaggedBincount.
absl::Span<const KernelRow> BincountKernels();
// Sets along the last axis: DenseToDenseSetOperation, DenseToSparseSetOperation, SparseToSparseSetOperation, SetSize.
absl::Span<const KernelRow> SetKernels();
// Two sparse tensors become one: SparseAdd, SparseAddGrad, SparseSparseMaximum, SparseSparseMinimum.
absl::Span<const KernelRow> SparseAddKernels();
// A sparse tensor with a dense one: SparseTensorDenseAdd, SparseTensorDenseMatMul, SparseDenseCwise{Add,Mul,Div}.
absl::Span<const KernelRow> SparseDenseKernels();
// Entries in other places: SparseReorder, SparseReshape, SparseConcat, SparseSplit, SparseSlice, SparseSliceGrad.
absl::Span<const KernelRow> SparseRearrangeKernels();
// Over axes: SparseReduce{Sum,Max}, SparseReduce{Sum,Max}Sparse, SparseSoftmax.
absl::Span<const KernelRow> SparseReduceKernels();
// Sums of chosen rows by group: SparseSegment{Sum,Mean,SqrtN}, ...WithNumSegments, ...Grad, ...GradV2.
absl::Span<const KernelRow> SparseSegmentKernels();
// SparseToDense, SparseFillEmptyRows, SparseFillEmptyRowsGrad.
absl::Span<const KernelRow> SparseToDenseKernels();

// Adds all of them.
void AddSparseKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_SPARSE_FAMILIES_H_
