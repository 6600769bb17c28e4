#include "graph/passes/node_traits.h"

#include <algorithm>

#include "graph/ir/op_class.h"
#include "graph/placement/memory_types.h"

namespace sluice {
namespace {

bool NamesFunctions(const AttrSpec& attr) { return ElementType(attr.type) == AttrType::kFunc; }

bool IsBound(DType type) { return IsRef(type) || type == DType::kResource; }

}  // namespace

bool IsControlFlow(const Graph& graph, NodeId id) {
  return IsControlFlow(graph.op(id).op_class) || graph.Is(id, "RefSelect");
}

bool IsPure(const Graph& graph, NodeId id) {
  const OpSchema& op = graph.op(id);
  if (op.is_stateful || op.is_distributed_communication) return false;
  // A GradSum takes dead inputs.
  if (IsControlFlow(graph, id) || op.op_class == OpClass::kGradSum || op.traits.is_impure) return false;
  if (std::any_of(op.attrs.begin(), op.attrs.end(), NamesFunctions)) return false;
  const Signature& signature = graph.signature(id);
  return std::none_of(signature.inputs.begin(), signature.inputs.end(), IsBound) &&
         std::none_of(signature.outputs.begin(), signature.outputs.end(), IsBound) && !CallsFunctions(graph, id);
}

}  // namespace sluice
