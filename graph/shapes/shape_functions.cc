#include "graph/shapes/shape_functions.h"

#include "graph/base/hash_table.h"
#include "graph/shapes/families.h"

namespace sluice {
namespace {

// Rows by op. Made on first use: programs that infer no shapes pay nothing.
const HashMap<absl::string_view, ShapeFunction>& Index() {
  static const auto index = [] {
    HashMap<absl::string_view, ShapeFunction> rows;
    for (const absl::Span<const ShapeRow> family : ShapeFamilies()) {
      for (const ShapeRow& row : family) rows.emplace(row.op, row.function);
    }
    return rows;
  }();
  return index;
}

}  // namespace

absl::Span<const absl::Span<const ShapeRow>> ShapeFamilies() {
  static const absl::Span<const ShapeRow> families[] = {
      BlocksRows(),        CollectionsRows(), ControlFlowRows(), ConvolutionRows(), CreationRows(),  EinsumRows(),
      ElementwiseRows(),   GatherRows(),      ImageRows(),       JoinSplitRows(),   LinalgRows(),    MatmulRows(),
      NormalizationRows(), PoolingRows(),     QuantizedRows(),   RandomRows(),      RecurrentRows(), ReductionRows(),
      ReshapeRows(),       SliceRows(),       SparseRows(),      StateRows(),       StringsRows(),
  };
  return families;
}

ShapeFunction FindShapeFunction(absl::string_view op) {
  const auto it = Index().find(op);
  return it == Index().end() ? nullptr : it->second;
}

}  // namespace sluice
