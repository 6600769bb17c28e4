#include "kernels/plugin/plugin_shapes.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/graph_node.h"
#include "kernels/kernel_construction.h"
#include "kernels/plugin/plugin_node.h"
#include "kernels/plugin/plugin_status.h"

namespace sluice {
namespace {

absl::Status CheckIndex(int32_t i, int count, absl::string_view kind) {
  if (i >= 0 && i < count) return absl::OkStatus();
  return Error(ErrorCode::kHostKernel).Text(absl::StrCat("the shape function asks for ", kind, " ", i, " of ", count));
}

absl::Status CheckInput(const SluiceShapes* shapes, int32_t i) {
  return CheckIndex(i, shapes->context.num_inputs(), "input");
}

absl::Status CheckOutput(const SluiceShapes* shapes, int32_t i) {
  return CheckIndex(i, shapes->context.num_outputs(), "output");
}

absl::Status CheckAll(const SluiceShapes* shapes, int32_t out, int32_t a, int32_t b) {
  SLUICE_RETURN_IF_ERROR(CheckOutput(shapes, out));
  SLUICE_RETURN_IF_ERROR(CheckInput(shapes, a));
  return CheckInput(shapes, b);
}

}  // namespace

SluiceStatus* ShapesInput(SluiceShapes* shapes, int32_t i, SluiceShape* shape) noexcept {
  return Answer([&] {
    SLUICE_RETURN_IF_ERROR(CheckInput(shapes, i));
    const PartialShape& input = shapes->context.input(i);
    *shape = ShapeForPlugin(input.IsFullyDefined() ? input : shapes->without_ids.emplace_back(input.WithoutIds()));
    return absl::OkStatus();
  });
}

int32_t ShapesInputValue(SluiceShapes* shapes, int32_t i, SluiceAttr* value) noexcept {
  static_assert(SLUICE_UNKNOWN_VALUE == kUnknownValue, "elements are handed over as they are");
  const ShapeValue* known = nullptr;
  const absl::Status looked = AsStatus([&] {
    SLUICE_RETURN_IF_ERROR(CheckInput(shapes, i));
    known = shapes->context.value(i);
    return absl::OkStatus();
  });
  if (!looked.ok() || known == nullptr) return 0;
  *value = {known->elements.data(), static_cast<int64_t>(known->size())};
  return 1;
}

SluiceStatus* ShapesSet(SluiceShapes* shapes, int32_t i, const SluiceShape* shape) noexcept {
  return Answer([&] {
    SLUICE_RETURN_IF_ERROR(CheckOutput(shapes, i));
    PartialShape made;
    if (shape->rank >= 0) {
      SLUICE_ASSIGN_OR_RETURN(made, PartialShape::Make({shape->dims, static_cast<size_t>(shape->rank)}));
    }
    shapes->context.Set(i, made);
    return absl::OkStatus();
  });
}

SluiceStatus* ShapesSetSame(SluiceShapes* shapes, int32_t out, int32_t a, int32_t b) noexcept {
  return Answer([&] {
    SLUICE_RETURN_IF_ERROR(CheckAll(shapes, out, a, b));
    PartialShape merged;
    SLUICE_RETURN_IF_ERROR(shapes->context.RequireSameShape(a, b, &merged));
    shapes->context.Set(out, merged);
    return absl::OkStatus();
  });
}

SluiceStatus* ShapesSetBroadcast(SluiceShapes* shapes, int32_t out, int32_t a, int32_t b) noexcept {
  return Answer([&]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckAll(shapes, out, a, b));
    InferenceContext& context = shapes->context;
    bool differ = false;
    const PartialShape shape = BroadcastShapes(context.input(a), context.input(b), &differ);
    if (differ) return context.MismatchError(b, "does not broadcast", context.input(b), context.input(a));
    context.Set(out, shape);
    return absl::OkStatus();
  });
}

absl::Status InferByPlugin(const SluiceOpDef& op, InferenceContext& context) {
  return AsStatus([&] {
    const GraphNode properties(context.graph(), context.node());
    const KernelConstruction construction(properties);
    SluiceNode node(construction);
    SluiceShapes shapes{context};
    return TakeStatus(op.shapes(op.data, &node, &shapes));
  });
}

}  // namespace sluice
