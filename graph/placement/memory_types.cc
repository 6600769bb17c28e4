#include "graph/placement/memory_types.h"

#include <algorithm>

#include "graph/ir/op_class.h"

namespace sluice {
namespace {

bool Lists(const Graph& graph, NodeId id, absl::string_view attr, int32_t i) {
  AttrView value;
  if (!graph.FindAttr(id, attr, &value)) return false;
  const absl::StatusOr<std::vector<int64_t>> ports = value.AsIntList();
  return ports.ok() && std::find(ports->begin(), ports->end(), i) != ports->end();
}

// Whether the host reads or writes that input or output itself.
bool IsHosts(OpClass op_class, bool is_input, int32_t i) {
  switch (op_class) {
    case OpClass::kSwitch:
    case OpClass::kSwitchN:
      return is_input && i == 1;
    case OpClass::kMerge:
      return !is_input && i == 1;
    case OpClass::kLoopCond:
    case OpClass::kArg:
    case OpClass::kRetval:
      return true;
    default:
      return IsTransfer(op_class);
  }
}

// Rules 1 to 6; `decided` is false when the kernel must say.
bool HostByRule(const Graph& graph, NodeId id, bool is_input, int32_t i, DType type, absl::string_view device_type,
                bool* decided) {
  *decided = true;
  if (device_type == "CPU" || Lists(graph, id, is_input ? "_input_hostmem" : "_output_hostmem", i)) return true;
  const DType base = BaseType(type);
  if (base == DType::kString || base == DType::kResource || base == DType::kVariant) return true;
  const OpClass op_class = graph.op(id).op_class;
  if (IsHosts(op_class, is_input, i)) return true;
  if (IsControlFlow(op_class) || op_class == OpClass::kForward) return base == DType::kInt32 || base == DType::kBool;
  if (CallsFunctions(graph, id)) return base == DType::kInt32;
  *decided = false;
  return false;
}

}  // namespace

bool CallsFunctions(const Graph& graph, NodeId id) {
  return IsFunctionCaller(graph.op(id).op_class) ||
         (!graph.library().empty() && graph.library().Contains(graph.op_name(id)));
}

bool InputOnHost(const Graph& graph, const KernelCatalog& catalog, NodeId id, int32_t i,
                 absl::string_view device_type) {
  bool decided = false;
  const bool host = HostByRule(graph, id, /*is_input=*/true, i, graph.input_type(id, i), device_type, &decided);
  return decided ? host : catalog.TakesInputOnHost(graph, id, i, device_type);
}

bool OutputOnHost(const Graph& graph, const KernelCatalog& catalog, NodeId id, int32_t i,
                  absl::string_view device_type) {
  bool decided = false;
  const bool host = HostByRule(graph, id, /*is_input=*/false, i, graph.output_type(id, i), device_type, &decided);
  return decided ? host : catalog.GivesOutputOnHost(graph, id, i, device_type);
}

}  // namespace sluice
