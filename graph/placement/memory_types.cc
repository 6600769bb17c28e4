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

// Rules 1 to 4; `decided` is false when the kernel must say.
bool HostByRule(const Graph& graph, NodeId id, absl::string_view attr, int32_t i, DType type,
                absl::string_view device_type, bool* decided) {
  *decided = true;
  if (device_type == "CPU" || Lists(graph, id, attr, i)) return true;
  const DType base = BaseType(type);
  if (base == DType::kString || base == DType::kResource) return true;
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
  const bool host = HostByRule(graph, id, "_input_hostmem", i, graph.input_type(id, i), device_type, &decided);
  return decided ? host : catalog.TakesInputOnHost(graph, id, i, device_type);
}

bool OutputOnHost(const Graph& graph, const KernelCatalog& catalog, NodeId id, int32_t i,
                  absl::string_view device_type) {
  bool decided = false;
  const bool host = HostByRule(graph, id, "_output_hostmem", i, graph.output_type(id, i), device_type, &decided);
  return decided ? host : catalog.GivesOutputOnHost(graph, id, i, device_type);
}

}  // namespace sluice
