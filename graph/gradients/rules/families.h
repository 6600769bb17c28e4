#ifndef SLUICE_GRAPH_GRADIENTS_RULES_FAMILIES_H_
#define SLUICE_GRAPH_GRADIENTS_RULES_FAMILIES_H_

// The tables of all families, one file each. Only gradient_table.cc gathers them.

#include "graph/gradients/gradient_table.h"

namespace sluice {

absl::Span<const GradientRow> ActivationGradients();
absl::Span<const GradientRow> ArithmeticGradients();
absl::Span<const GradientRow> ArrayGradients();
absl::Span<const GradientRow> BranchGradients();
absl::Span<const GradientRow> CollectionGradients();
absl::Span<const GradientRow> ContainerGradients();
absl::Span<const GradientRow> ConvolutionGradients();
absl::Span<const GradientRow> DecompositionGradients();
absl::Span<const GradientRow> DiagonalGradients();
absl::Span<const GradientRow> EinsumGradients();
absl::Span<const GradientRow> FftGradients();
absl::Span<const GradientRow> GatherGradients();
absl::Span<const GradientRow> ImageGradients();
absl::Span<const GradientRow> JoinGradients();
absl::Span<const GradientRow> LinalgGradients();
absl::Span<const GradientRow> LossGradients();
absl::Span<const GradientRow> NormalizationGradients();
absl::Span<const GradientRow> PoolingGradients();
absl::Span<const GradientRow> ProductGradients();
absl::Span<const GradientRow> QuantizedGradients();
absl::Span<const GradientRow> RandomGradients();
absl::Span<const GradientRow> RecurrentGradients();
absl::Span<const GradientRow> ReductionGradients();
absl::Span<const GradientRow> SegmentGradients();
absl::Span<const GradientRow> SliceGradients();
absl::Span<const GradientRow> SparseGradients();
absl::Span<const GradientRow> SpecialGradients();
absl::Span<const GradientRow> StateGradients();
absl::Span<const GradientRow> UnaryGradients();

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_RULES_FAMILIES_H_
