#include "graph/passes/node_traits.h"

#include <algorithm>
#include <array>

#include "graph/placement/memory_types.h"

namespace sluice {
namespace {

// In ascending order.
constexpr std::array<absl::string_view, 14> kControlFlow = {
    "ControlTrigger", "Enter",     "Exit",    "LoopCond", "Merge",
    "NextIteration",  "RefEnter",  "RefExit", "RefMerge", "RefNextIteration",
    "RefSelect",      "RefSwitch", "Switch",  "_SwitchN"};

// Ops without the stateful flag whose value comes from elsewhere, or that exist for what they do.
constexpr std::array<absl::string_view, 9> kImpure = {
    "Abort",         "CheckNumerics",          "ImmutableConst",  "NoOp",        "Placeholder",
    "PlaceholderV2", "PlaceholderWithDefault", "PreventGradient", "StopGradient"};

template <size_t kSize>
bool Contains(const std::array<absl::string_view, kSize>& sorted, absl::string_view op) {
  return std::binary_search(sorted.begin(), sorted.end(), op);
}

bool NamesFunctions(const AttrSpec& attr) { return ElementType(attr.type) == AttrType::kFunc; }

bool IsBound(DType type) { return IsRef(type) || type == DType::kResource; }

}  // namespace

bool IsControlFlow(const Graph& graph, NodeId id) { return Contains(kControlFlow, graph.op_name(id)); }

bool IsPure(const Graph& graph, NodeId id) {
  const OpSchema& op = graph.op(id);
  if (op.is_stateful || op.is_distributed_communication) return false;
  if (IsControlFlow(graph, id) || Contains(kImpure, op.name)) return false;
  if (std::any_of(op.attrs.begin(), op.attrs.end(), NamesFunctions)) return false;
  const Signature& signature = graph.signature(id);
  return std::none_of(signature.inputs.begin(), signature.inputs.end(), IsBound) &&
         std::none_of(signature.outputs.begin(), signature.outputs.end(), IsBound) && !CallsFunctions(graph, id);
}

}  // namespace sluice
