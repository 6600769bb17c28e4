#include "graph/gradients/captured_values.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/ir/function_library.h"
#include "graph/ir/registered_gradients.h"
#include "graph/ir/tensor_id.h"

namespace sluice {
namespace {

// Finds the name prefix of the inlined body of `function` that `node` comes from; false if it comes from no such body.
bool FindPrefix(const Graph& graph, NodeId node, const FunctionDefinition& function, absl::string_view op_type,
                absl::string_view* prefix) {
  for (const NodeDefView& body_node : function.nodes) {
    const NamedAttr* const type = body_node.FindAttr(kGradientOpTypeAttr);
    if (type == nullptr || body_node.op != graph.op_name(node)) continue;
    const absl::StatusOr<absl::string_view> stated = type->value.AsString();
    if (!stated.ok() || *stated != op_type) continue;
    *prefix = graph.name(node);
    if (absl::ConsumeSuffix(prefix, body_node.name) && (prefix->empty() || absl::EndsWith(*prefix, "/"))) return true;
  }
  return false;
}

// Finds the tensor that the call gave for an argument of the function, through the Identity that passes it to the body.
Output FindArgument(const Graph& graph, const FunctionDefinition& function, absl::string_view name,
                    absl::string_view prefix) {
  for (size_t i = 0; i < function.schema.inputs.size(); ++i) {
    const ArgSpec& arg = function.schema.inputs[i];
    if (arg.is_list()) return {NodeId(-1), 0};  // TensorFlow's tracing writes no lists.
    if (arg.name != name || !absl::ConsumeSuffix(&prefix, "/")) continue;
    const NodeId id = graph.Find(absl::StrCat("Func/", prefix, "/input/_", i));
    if (graph.Contains(id) && graph.Is(id, "Identity")) return {id, 0};
  }
  return {NodeId(-1), 0};
}

}  // namespace

absl::StatusOr<Output> FindCapture(const Graph& graph, NodeId node, const CustomGradient& gradient,
                                   const CustomGradient::Capture& capture) {
  const TensorId tensor = ParseTensorId(capture.tensor);
  Output found{NodeId(-1), 0};
  if (capture.function.empty()) {
    found = {graph.Find(tensor.node), tensor.index};
  } else if (const std::shared_ptr<const FunctionDefinition> function = graph.library().Find(capture.function)) {
    absl::string_view prefix;
    if (FindPrefix(graph, node, *function, gradient.op_type, &prefix)) {
      found = {graph.Find(absl::StrCat(prefix, tensor.node)), tensor.index};
      if (!graph.Contains(found.node)) found = FindArgument(graph, *function, tensor.node, prefix);
    }
  }
  if (graph.Contains(found.node) && found.index >= 0 && found.index < graph.num_outputs(found.node)) return found;
  const std::string where = capture.function.empty() ? "" : absl::StrCat(" of '", PrintableName(capture.function), "'");
  return graph.Locate(
      node, Error(ErrorCode::kUnsupported)
                .Text(absl::StrCat("has no gradient: '", PrintableName(gradient.function), "', that of its type '",
                                   PrintableName(gradient.op_type), "', takes the value '",
                                   PrintableName(capture.tensor), "'", where, ", which is not there")));
}

}  // namespace sluice
