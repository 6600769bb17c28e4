#ifndef SLUICE_KERNELS_ARRAY_FAMILIES_H_
#define SLUICE_KERNELS_ARRAY_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Diag and DiagPart, for tensors of any rank, and MatrixBandPart.
SLUICE_AT_START absl::Span<const KernelRow> BandKernels();
// Blocks of space moved into the batch or into the depth, and back: SpaceToBatch(ND), BatchToSpace(ND), SpaceToDepth,
// DepthToSpace.
SLUICE_AT_START absl::Span<const KernelRow> BlockKernels();
// Many tensors into one: Concat, ConcatV2, ConcatOffset, Pack.
SLUICE_AT_START absl::Span<const KernelRow> ConcatKernels();
// Diagonals of matrices, in batches: MatrixDiag, MatrixDiagPart and MatrixSetDiag in all three versions.
SLUICE_AT_START absl::Span<const KernelRow> DiagonalKernels();
// Rows dealt out by number and put together again: DynamicPartition, DynamicStitch, ParallelDynamicStitch.
SLUICE_AT_START absl::Span<const KernelRow> DynamicStitchKernels();
// Ops that make elements from nothing but a shape or a rule: Fill, ZerosLike, OnesLike, Empty, Range, LinSpace.
SLUICE_AT_START absl::Span<const KernelRow> FillKernels();
// Ops that pick rows by their number: Gather, GatherV2.
SLUICE_AT_START absl::Span<const KernelRow> GatherKernels();
// Picking and placing slices by their coordinates: GatherNd, ScatterNd, TensorScatterUpdate and its kin.
SLUICE_AT_START absl::Span<const KernelRow> GatherNdKernels();
// MirrorPadGrad: the edges that MirrorPad has made, added to what they are images of.
SLUICE_AT_START absl::Span<const KernelRow> MirrorPadGradKernels();
// Ops that put elements around a tensor: Pad, PadV2, MirrorPad.
SLUICE_AT_START absl::Span<const KernelRow> PadKernels();
// Ops that repeat elements: Tile, BroadcastTo.
SLUICE_AT_START absl::Span<const KernelRow> RepeatKernels();
// Ops that move elements along axes: Reverse, ReverseV2, ReverseSequence, Roll.
SLUICE_AT_START absl::Span<const KernelRow> ReverseKernels();
// Positions from values and coordinates from positions: LowerBound, UpperBound, UnravelIndex.
SLUICE_AT_START absl::Span<const KernelRow> SearchKernels();
// Ops that look at a shape or change it, and never touch elements: Shape, ShapeN, Size, Rank, Reshape, ExpandDims,
// Squeeze, EnsureShape. Those that give the elements back hand their buffer on.
SLUICE_AT_START absl::Span<const KernelRow> ShapeKernels();
// Ops that cut a box out of a tensor, or put one in: Slice, StridedSlice, StridedSliceGrad, TensorStridedSliceUpdate.
SLUICE_AT_START absl::Span<const KernelRow> SliceKernels();
// One tensor into many: Split, SplitV, Unpack. Parts of whole rows share the input's buffer.
SLUICE_AT_START absl::Span<const KernelRow> SplitKernels();
// The largest elements of each row: TopK, TopKV2, NthElement.
SLUICE_AT_START absl::Span<const KernelRow> TopKKernels();
// Ops that put axes or indices in another order: Transpose, ConjugateTranspose, InvertPermutation.
SLUICE_AT_START absl::Span<const KernelRow> TransposeKernels();
// Repeated elements: Unique, UniqueV2, UniqueWithCounts, UniqueWithCountsV2, ListDiff.
SLUICE_AT_START absl::Span<const KernelRow> UniqueKernels();
// From conditions to indices and back: Where, OneHot.
SLUICE_AT_START absl::Span<const KernelRow> WhereKernels();

// Adds all of them.
SLUICE_AT_START void AddArrayKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_FAMILIES_H_
