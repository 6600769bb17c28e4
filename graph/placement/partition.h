#ifndef SLUICE_GRAPH_PLACEMENT_PARTITION_H_
#define SLUICE_GRAPH_PLACEMENT_PARTITION_H_

// Cuts a placed graph into one graph per device.
//
// Note [Partitioning]
// An edge between devices becomes a _Send on one side and a _Recv on the other that agree on `tensor_name` ("edge_N_x",
// N counts the cut edges). One pair serves all consumers of an output on a device (in the same kind of memory); but an
// output that is a reference is received for each consumer anew, and such a _Recv waits for all other inputs of its
// consumer, so that the variable is read as late as it was before. A control edge sends an empty constant that waits
// for the source; the consumers wait for an Identity of what is received. Where an accelerator's node gives or takes a
// value in host memory, its end of the pair is a _HostSend or _HostRecv; when two nodes of one accelerator disagree
// about the memory, a pair within the device copies the value, and its receiving end waits for the sending one.
// Loops over several devices: Note [Control loops].

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/limits.h"
#include "graph/ir/graph.h"
#include "graph/placement/device_list.h"
#include "graph/placement/kernel_catalog.h"

namespace sluice {

// What one device, or one process, runs.
struct Partition {
  std::string location;  // Full name of the device, or the task's part of it.
  Graph graph;
};

struct PartitionOptions {
  // Which ports of accelerators' kernels are in host memory. Null: only those of memory_types.h.
  const KernelCatalog* catalog = nullptr;
  // Incarnations of devices; 0 for those that it does not list, and for all when null.
  const DeviceList* devices = nullptr;
  // One partition per process: edges between devices of one task are left for a second cut there.
  bool by_task = false;
  // The graph is the result of a first cut by task, which added the control loops.
  bool has_control_loops = false;
  // The prefix of tensor names; must differ between graphs that share a rendezvous and devices.
  std::string edge_prefix = "edge";
  LoadLimits limits;
};

// Cuts `graph`, all of whose nodes have full device names. Partitions come in order of location, their nodes in order
// of id with the added ones last, their libraries hold what they need. _Send and _Recv nodes that were there before get
// the incarnation of their sender, if they have none.
// INVALID_ARGUMENT: kPartition for a node without a full device name or input, a reference that crosses, a loop over
// several devices without LoopCond; what BuildControlFlowInfo says. Linear in graph and partitions; not recursive.
absl::StatusOr<std::vector<Partition>> PartitionGraph(const Graph& graph, const PartitionOptions& options);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_PARTITION_H_
