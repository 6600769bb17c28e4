#ifndef SLUICE_GRAPH_PLACEMENT_MEMORY_TYPES_H_
#define SLUICE_GRAPH_PLACEMENT_MEMORY_TYPES_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/placement/kernel_catalog.h"

namespace sluice {

// Whether input (output) `i` of `id`, which runs on a device of `device_type`, stands in host memory. The first rule
// that applies decides:
// 1. On a CPU everything does.
// 2. Ports listed in the attr _input_hostmem (_output_hostmem) do.
// 3. Strings, handles of resources and variants do.
// 4. Values that the host itself reads or writes do: the predicate of a Switch, the index of a _SwitchN, that of a
//    Merge, the condition of a loop; arguments and results of the graph; what is sent and received.
// 5. Of control flow, and of nodes that hand a value on (Identity), int32 and bool do: counters and predicates, which
//    would have to come back. Of the calls of functions, whose bodies are placed on their own, int32 arguments and
//    results do.
// 6. Values that other control flow and such nodes pass on are in the device's memory.
// 7. Otherwise the kernel says.
bool InputOnHost(const Graph& graph, const KernelCatalog& catalog, NodeId id, int32_t i, absl::string_view device_type);
bool OutputOnHost(const Graph& graph, const KernelCatalog& catalog, NodeId id, int32_t i,
                  absl::string_view device_type);

// Whether `id` calls functions: an op of the library, or PartitionedCall, If, While, Case and their kin.
bool CallsFunctions(const Graph& graph, NodeId id);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_MEMORY_TYPES_H_
