#include "graph/gradients/gradient_table.h"

#include "graph/base/hash_table.h"
#include "graph/gradients/families.h"

namespace sluice {
namespace {

// Rows by op. Made on first use: programs that differentiate nothing pay nothing.
const HashMap<absl::string_view, const GradientRow*>& Index() {
  static const auto index = [] {
    HashMap<absl::string_view, const GradientRow*> rows;
    for (const absl::Span<const GradientRow> family : GradientFamilies()) {
      for (const GradientRow& row : family) rows.emplace(row.op, &row);
    }
    return rows;
  }();
  return index;
}

}  // namespace

absl::Span<const absl::Span<const GradientRow>> GradientFamilies() {
  static const absl::Span<const GradientRow> families[] = {
      ActivationGradients(), ArithmeticGradients(),    ArrayGradients(),       BranchGradients(),
      CollectionGradients(), ContainerGradients(),     ConvolutionGradients(), DecompositionGradients(),
      DiagonalGradients(),   EinsumGradients(),        FftGradients(),         GatherGradients(),
      ImageGradients(),      JoinGradients(),          LinalgGradients(),      LossGradients(),
      NoGradients(),         NormalizationGradients(), PoolingGradients(),     ProductGradients(),
      QuantizedGradients(),  RandomGradients(),        RecurrentGradients(),   ReductionGradients(),
      SegmentGradients(),    SliceGradients(),         SparseGradients(),      SpecialGradients(),
      StateGradients(),      UnaryGradients(),
  };
  return families;
}

const GradientRow* FindGradientRow(absl::string_view op) {
  const auto it = Index().find(op);
  return it == Index().end() ? nullptr : it->second;
}

}  // namespace sluice
