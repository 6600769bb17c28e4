#ifndef SLUICE_GRAPH_GRADIENTS_ADDED_GRADIENTS_H_
#define SLUICE_GRAPH_GRADIENTS_ADDED_GRADIENTS_H_

// Gradients of ops that host programs and plug-ins add to their registries; kept outside the registries, as shape
// functions are (graph/shapes/added_shape_functions.h).

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/gradients/gradient_context.h"
#include "graph/ir/op_registry.h"

namespace sluice {

// As GradientFunction in gradient_table.h. Called from any thread.
using AddedGradient = absl::AnyInvocable<absl::Status(GradientContext& c) const>;

// Makes `function` the gradient of `op` in graphs over `ops`, from the next AddGradients on:
//
//   SLUICE_RETURN_IF_ERROR(AddGradientFunction(ops, "Twice", [](GradientContext& c) {
//     c.SetInput(0, c.dy() * 2);
//     return absl::OkStatus();
//   }));
//
// It is kept as long as `ops` lives, or longer. kOpSchema if `ops` has no such op, or the op has a gradient already,
// from TensorFlow's table or added. Thread-safe.
absl::Status AddGradientFunction(const std::shared_ptr<const OpRegistry>& ops, absl::string_view op,
                                 AddedGradient function);

// Whether `op` has a row: in TensorFlow's table, which goes by name alone, or one added. Thread-safe.
bool HasGradientFunction(const OpRegistry* ops, absl::string_view op);

// Returns the function added for `op`, or null. Thread-safe; costs one load if none was ever added.
std::shared_ptr<const AddedGradient> FindAddedGradient(const OpRegistry* ops, absl::string_view op);

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_ADDED_GRADIENTS_H_
