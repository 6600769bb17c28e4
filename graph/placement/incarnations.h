#ifndef SLUICE_GRAPH_PLACEMENT_INCARNATIONS_H_
#define SLUICE_GRAPH_PLACEMENT_INCARNATIONS_H_

#include "absl/status/status.h"
#include "graph/ir/graph.h"
#include "graph/placement/device_list.h"

namespace sluice {

// Fills in attr send_device_incarnation of the _Send, _Recv, _HostSend and _HostRecv nodes of `graph` and of its
// functions' bodies where it is 0 and `devices` lists the send_device. Functions that change are replaced in the
// graph's own library; definitions shared with other graphs stay as they are.
absl::Status SetIncarnations(const DeviceList& devices, Graph& graph);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_INCARNATIONS_H_
