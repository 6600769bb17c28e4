#ifndef SLUICE_GRAPH_PLACEMENT_COPY_NODES_H_
#define SLUICE_GRAPH_PLACEMENT_COPY_NODES_H_

// Note [Copies]
// The host and each accelerator of a process have memory of their own, and a graph that spans them stays one graph: an
// edge whose ends stand in different memory gets a node between them that copies the value, once for all consumers of
// an output in one memory. memory_types.h says in which memory each end of an edge is. A copy out of a device's memory
// is on that device, any other on the device that it leads to. A loop's variable stays in one memory from the Enter to
// the Exit: its copies are before the Enter and the NextIteration, since a Merge must see those themselves.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/placement/kernel_catalog.h"

namespace sluice {

// Copies its input from one memory to another, as its two attrs say.
inline constexpr absl::string_view kCopyOp = "_DeviceCopy";

// Source and destination of a copy: full names of devices; empty for the host's memory.
struct CopyEnds {
  std::string from;
  std::string to;
};
// Of a node of kCopyOp. kAttrMissing where it does not say.
absl::StatusOr<CopyEnds> CopyEndsOf(const Graph& graph, NodeId id);

// Adds the copies that `graph`, all of whose nodes have full device names, needs; graphs on CPUs need none. Moves
// control flow to where its data is first, where there are other devices. kPartition for a reference between memories,
// and for a NextIteration or an Enter that leads to Merges on several devices. Linear; not recursive.
absl::Status InsertCopies(Graph& graph, const KernelCatalog& catalog);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_COPY_NODES_H_
