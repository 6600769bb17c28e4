#include "graph/shapes/added_shape_functions.h"

#include <utility>

#include "graph/ir/added_functions.h"
#include "graph/shapes/shape_functions.h"

namespace sluice {

absl::Status AddShapeFunction(const std::shared_ptr<const OpRegistry>& ops, absl::string_view op,
                              AddedShapeFunction function) {
  return AddedFunctions<AddedShapeFunction>::Get().Add(ops, op, std::move(function), "shape function",
                                                       FindShapeFunction(op) != nullptr);
}

bool HasShapeFunction(const OpRegistry* ops, absl::string_view op) {
  return FindShapeFunction(op) != nullptr || FindAddedShapeFunction(ops, op) != nullptr;
}

std::shared_ptr<const AddedShapeFunction> FindAddedShapeFunction(const OpRegistry* ops, absl::string_view op) {
  return AddedFunctions<AddedShapeFunction>::Get().Find(ops, op);
}

}  // namespace sluice
