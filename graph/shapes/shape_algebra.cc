// Shapes from shapes: what inference_context.h declares beside its class.

#include <algorithm>

#include "graph/shapes/inference_context.h"

namespace sluice {
PartialShape BroadcastShapes(const PartialShape& a, const PartialShape& b, bool* differ) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape();
  const PartialShape& longer = a.rank() >= b.rank() ? a : b;
  const PartialShape& shorter = a.rank() >= b.rank() ? b : a;
  Dims dims = DimsOf(longer);
  const int offset = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    int64_t& size = dims[static_cast<size_t>(i + offset)];
    size = BroadcastDim(size, shorter.dim(i), differ);
  }
  return *differ ? PartialShape() : ShapeOf(dims);
}

PartialShape SubShape(const PartialShape& shape, int begin, int end) {
  if (!shape.has_rank()) return PartialShape();
  Dims dims;
  for (int i = std::max(begin, 0); i < std::min(end, shape.rank()); ++i) dims.push_back(shape.dim(i));
  return ShapeOf(dims);
}

PartialShape ConcatShapes(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape();
  Dims dims = DimsOf(a);
  dims.insert(dims.end(), b.dims().begin(), b.dims().end());
  return ShapeOf(dims);
}

PartialShape JoinShapes(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || a.rank() != b.rank()) return PartialShape();
  Dims dims = DimsOf(a);
  for (int i = 0; i < b.rank(); ++i) {
    int64_t& size = dims[static_cast<size_t>(i)];
    if (size != b.dim(i)) size = kUnknownDim;
  }
  return ShapeOf(dims);
}

PartialShape ShapeOf(const Dims& dims) {
  absl::StatusOr<PartialShape> shape = PartialShape::MakeWithIds(dims);
  if (shape.ok()) return *std::move(shape);
  return dims.size() <= static_cast<size_t>(kMaxRank) ? PartialShape::OfRank(static_cast<int>(dims.size()))
                                                      : PartialShape();
}

Dims DimsOf(const PartialShape& shape) { return Dims(shape.dims().begin(), shape.dims().end()); }

}  // namespace sluice
