#ifndef SLUICE_GRAPH_SHAPES_FAMILIES_H_
#define SLUICE_GRAPH_SHAPES_FAMILIES_H_

// The tables of all families, one file each. Only shape_functions.cc gathers them.

#include "graph/shapes/shape_functions.h"

namespace sluice {

absl::Span<const ShapeRow> BlocksRows();
absl::Span<const ShapeRow> CollectionsRows();
absl::Span<const ShapeRow> ControlFlowRows();
absl::Span<const ShapeRow> ConvolutionRows();
absl::Span<const ShapeRow> CreationRows();
absl::Span<const ShapeRow> EinsumRows();
absl::Span<const ShapeRow> ElementwiseRows();
absl::Span<const ShapeRow> GatherRows();
absl::Span<const ShapeRow> ImageRows();
absl::Span<const ShapeRow> JoinSplitRows();
absl::Span<const ShapeRow> LinalgRows();
absl::Span<const ShapeRow> MatmulRows();
absl::Span<const ShapeRow> NormalizationRows();
absl::Span<const ShapeRow> PoolingRows();
absl::Span<const ShapeRow> QuantizedRows();
absl::Span<const ShapeRow> RandomRows();
absl::Span<const ShapeRow> RecurrentRows();
absl::Span<const ShapeRow> ReductionRows();
absl::Span<const ShapeRow> ReshapeRows();
absl::Span<const ShapeRow> SliceRows();
absl::Span<const ShapeRow> SparseRows();
absl::Span<const ShapeRow> StateRows();
absl::Span<const ShapeRow> StringsRows();

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_FAMILIES_H_
