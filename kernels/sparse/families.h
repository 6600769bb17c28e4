#ifndef SLUICE_KERNELS_SPARSE_FAMILIES_H_
#define SLUICE_KERNELS_SPARSE_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// How often numbers occur: Bincount, DenseBincount, SparseBincount, RaggedBincount.
SLUICE_AT_START absl::Span<const KernelRow> BincountKernels();
// How often numbers occur, as a sparse tensor: {Dense,Sparse,Ragged}CountSparseOutput.
SLUICE_AT_START absl::Span<const KernelRow> CountSparseKernels();
// Combinations of features: SparseCross, SparseCrossV2, SparseCrossHashed.
SLUICE_AT_START absl::Span<const KernelRow> FeatureCrossKernels();
// Sets along the last axis: DenseToDenseSetOperation, DenseToSparseSetOperation, SparseToSparseSetOperation, SetSize.
SLUICE_AT_START absl::Span<const KernelRow> SetKernels();
// Two sparse tensors become one: SparseAdd, SparseAddGrad, SparseSparseMaximum, SparseSparseMinimum.
SLUICE_AT_START absl::Span<const KernelRow> SparseAddKernels();
// A sparse tensor with a dense one: SparseTensorDenseAdd, SparseTensorDenseMatMul, SparseDenseCwise{Add,Mul,Div}.
SLUICE_AT_START absl::Span<const KernelRow> SparseDenseKernels();
// Entries in other places: SparseReorder, SparseReshape, SparseConcat, SparseSplit, SparseSlice, SparseSliceGrad.
SLUICE_AT_START absl::Span<const KernelRow> SparseRearrangeKernels();
// Over axes: SparseReduce{Sum,Max}, SparseReduce{Sum,Max}Sparse, SparseSoftmax.
SLUICE_AT_START absl::Span<const KernelRow> SparseReduceKernels();
// Sums of chosen rows by group: SparseSegment{Sum,Mean,SqrtN}, ...WithNumSegments, ...Grad, ...GradV2.
SLUICE_AT_START absl::Span<const KernelRow> SparseSegmentKernels();
// Sparse tensors as strings or variants: SerializeSparse, SerializeManySparse, DeserializeSparse,
// DeserializeManySparse.
SLUICE_AT_START absl::Span<const KernelRow> SparseSerializeKernels();
// Sparse tensors under numbers: Add[Many]SparseToTensorsMap, TakeManySparseFromTensorsMap.
SLUICE_AT_START absl::Span<const KernelRow> SparseTensorsMapKernels();
// SparseToDense, {Sparse,Ragged}FillEmptyRows, {Sparse,Ragged}FillEmptyRowsGrad.
SLUICE_AT_START absl::Span<const KernelRow> SparseToDenseKernels();

// Adds all of them.
SLUICE_AT_START void AddSparseKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_SPARSE_FAMILIES_H_
