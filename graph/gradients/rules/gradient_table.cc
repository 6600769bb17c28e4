#include "graph/gradients/gradient_table.h"

#include "graph/base/hash_table.h"
#include "graph/gradients/rules/families.h"
#include "graph/ops/op_table.h"

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
      ActivationGradients(),    ArithmeticGradients(), ArrayGradients(),       BranchGradients(),
      CollectionGradients(),    ContainerGradients(),  ConvolutionGradients(), DecompositionGradients(),
      DiagonalGradients(),      EinsumGradients(),     FftGradients(),         GatherGradients(),
      ImageGradients(),         JoinGradients(),       LinalgGradients(),      LossGradients(),
      NormalizationGradients(), PoolingGradients(),    ProductGradients(),     QuantizedGradients(),
      RandomGradients(),        RecurrentGradients(),  ReductionGradients(),   SegmentGradients(),
      SliceGradients(),         SparseGradients(),     SpecialGradients(),     StateGradients(),
      UnaryGradients(),
  };
  return families;
}

const GradientRow* FindGradientRow(absl::string_view op) {
  static constexpr GradientRow kNone("", GradientRow::Kind::kNone);
  static constexpr GradientRow kRefused("", GradientRow::Kind::kRefused);
  static constexpr GradientRow kControlFlow("", GradientRow::Kind::kControlFlow);
  if (const auto it = Index().find(op); it != Index().end()) return it->second;
  const OpSchema* const schema = BuiltinOps().Find(op);
  switch (schema != nullptr ? schema->traits.gradient : OpTraits::Gradient::kUnknown) {
    case OpTraits::Gradient::kNone:
      return &kNone;
    case OpTraits::Gradient::kRefused:
      return &kRefused;
    case OpTraits::Gradient::kControlFlow:
      return &kControlFlow;
    default:
      return nullptr;
  }
}

}  // namespace sluice
