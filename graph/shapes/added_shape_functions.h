#ifndef SLUICE_GRAPH_SHAPES_ADDED_SHAPE_FUNCTIONS_H_
#define SLUICE_GRAPH_SHAPES_ADDED_SHAPE_FUNCTIONS_H_

// Shape functions of ops that host programs and plug-ins add to their registries (graph/ir/added_functions.h).

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/ir/op_registry.h"
#include "graph/shapes/inference_context.h"

namespace sluice {

// Called from any thread. As in ShapeFunction, an error is for what every run of the node refuses.
using AddedShapeFunction = absl::AnyInvocable<absl::Status(InferenceContext&) const>;

// Infers the shapes of `op` in graphs over `ops` with `function`, from the next inference on:
//
//   SLUICE_RETURN_IF_ERROR(AddShapeFunction(ops, "Twice", [](InferenceContext& c) { return c.Pass(0, 0), OkStatus();
//   }));
//
// The function is kept as long as `ops` lives, or longer. kOpSchema when `ops` has no such op, or when it has a shape
// function already: of TensorFlow's table, or added. Thread-safe.
absl::Status AddShapeFunction(const std::shared_ptr<const OpRegistry>& ops, absl::string_view op,
                              AddedShapeFunction function);

// Whether `op` has a function: in TensorFlow's table, which goes by name alone, or one added. Thread-safe.
bool HasShapeFunction(const OpRegistry* ops, absl::string_view op);

// The function added for `op`, or null. Thread-safe; costs a load where none was ever added.
std::shared_ptr<const AddedShapeFunction> FindAddedShapeFunction(const OpRegistry* ops, absl::string_view op);

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_ADDED_SHAPE_FUNCTIONS_H_
