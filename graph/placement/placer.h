#ifndef SLUICE_GRAPH_PLACEMENT_PLACER_H_
#define SLUICE_GRAPH_PLACEMENT_PLACER_H_

// Gives every node a device.
//
// Note [Placement]
// Groups of nodes that must be together (Note [Colocation]) get one device: one that matches what all members ask for
// and whose type has a kernel for each member. Of several, accelerators come before CPUs, devices of the client's task
// before others, then the order of the list counts. The request of a node that takes a resource handle counts last, and
// is ignored if it contradicts the others. Two exceptions save copies for nodes without a request: a node that only
// reads the shape of its input is placed with the input, and a source with one output with its consumers, if these are
// all on one device.

#include <string>

#include "absl/status/status.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/graph.h"
#include "graph/placement/device_list.h"
#include "graph/placement/kernel_catalog.h"

namespace sluice {

struct PlacementOptions {
  // Soft placement: if the requested device does not exist or has no kernel, use another one of the same task.
  bool allow_soft = false;
  // With allow_soft: also use another job or task if the requested one has no suitable device. Colocated nodes that
  // name different tasks get the task of the first.
  bool allow_other_task = false;
  // The device of nodes without a request, if it has a kernel; may be partial or empty.
  std::string default_device;
  StopPoll* stop = nullptr;  // Polled; null: never stops.
};

// Sets the device of every node to the full name of one of `devices`. On error the graph is as before.
// Errors (all that were found, up to 50, each naming its node): kDeviceName; kDeviceUnknown with the devices there are;
// kColocation naming both nodes; kNoKernel. Near-linear time, not recursive.
absl::Status PlaceGraph(Graph& graph, const DeviceList& devices, const KernelCatalog& catalog,
                        const PlacementOptions& options);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_PLACER_H_
