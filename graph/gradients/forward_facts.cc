#include "graph/gradients/forward_facts.h"

#include <utility>

#include "graph/ir/attr.h"
#include "graph/shapes/const_value.h"
#include "graph/shapes/handle_data.h"
#include "graph/shapes/inference.h"
#include "graph/shapes/shape_value.h"

namespace sluice {

ForwardFacts::ForwardFacts(const Graph& graph, const GradientRegion& region)
    : graph_(graph), region_(region), limit_(graph.id_limit()) {}

const ShapeMap* ForwardFacts::Shapes() {
  if (!is_inferred_) {
    is_inferred_ = true;
    absl::StatusOr<ShapeMap> shapes = InferShapes(graph_);
    if (shapes.ok()) shapes_ = std::make_unique<ShapeMap>(*std::move(shapes));
  }
  return shapes_.get();
}

bool ForwardFacts::IsKnown(const Output& output) {
  return IsForward(output) && Shapes() != nullptr && !shapes_->IsAssumed(output.node);
}

PartialShape ForwardFacts::Shape(const Output& output) {
  questions_.push_back({Question::Kind::kShape, output, output});
  if (!IsKnown(output)) {
    // A run checks the shape of an EnsureShape, so it can be relied on.
    absl::StatusOr<PartialShape> ensured = PartialShape();
    if (IsForward(output) && graph_.Is(output.node, "EnsureShape")) ensured = graph_.GetShape(output.node, "shape");
    return ensured.ok() ? *std::move(ensured) : PartialShape();
  }
  const PartialShape& known = shapes_->shape(output);
  if (!known.has_rank() || known.IsFullyDefined()) return known;
  std::vector<int64_t> dims;
  for (int i = 0; i < known.rank(); ++i) dims.push_back(known.dim(i) < 0 ? -1 : known.dim(i));
  absl::StatusOr<PartialShape> shape = PartialShape::Make(dims);
  return shape.ok() ? *std::move(shape) : PartialShape();
}

PartialShape ForwardFacts::ElementShape(const Output& array) {
  const HandleData* const parts = IsKnown(array) ? shapes_->handle(array) : nullptr;
  return parts == nullptr || parts->size() != 1 ? PartialShape() : (*parts)[0].shape;
}

bool ForwardFacts::HaveSameShape(const Output& a, const Output& b) {
  if (a == b) return true;
  questions_.push_back({Question::Kind::kSameShape, a, b});
  return IsKnown(a) && IsKnown(b) && shapes_->HaveSameShape(a, b);
}

std::optional<std::vector<int64_t>> ForwardFacts::Integers(const Output& output) {
  questions_.push_back({Question::Kind::kConstant, output, output});
  // Inference reads only the constants that shapes need.
  AttrView attr;
  if (IsForward(output) && graph_.Is(output.node, "Const") && graph_.FindAttr(output.node, "value", &attr)) {
    std::optional<ShapeValue> constant = ConstIntegers(attr);
    if (!constant.has_value()) return std::nullopt;
    return std::move(constant->elements);
  }
  if (!IsKnown(output)) return std::nullopt;
  const ShapeValue* const value = shapes_->value(output);
  if (value == nullptr || !value->IsKnown()) return std::nullopt;
  return value->elements;
}

}  // namespace sluice
