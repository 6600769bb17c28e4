#ifndef SLUICE_GRAPH_PLACEMENT_PLACER_H_
#define SLUICE_GRAPH_PLACEMENT_PLACER_H_

// Gives every node a device.
//
// Note [Placement]
// Groups of nodes that must be together (Note [Colocation]) get one device: one that matches what all members ask for
// and whose type has a kernel for each member. Of several, accelerators come before CPUs, devices of the client's task
// before others, then the order of the list counts. What a node asks for that takes a handle of state (a resource)
// counts last, and where it contradicts the others it is as if it asked for nothing. Two exceptions save copies where
// nothing is asked for: nodes that only look at the shape of their input go where the input is, and sources with one
// output where all their consumers are.

#include <string>

#include "absl/status/status.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/graph.h"
#include "graph/placement/device_list.h"
#include "graph/placement/kernel_catalog.h"

namespace sluice {

struct PlacementOptions {
  // Soft placement: when the device asked for does not exist or has no kernel, another one of the same task will do.
  bool allow_soft = false;
  // With allow_soft: one of another job or task, if those requested have none. Nodes that are tied to each other and
  // name different tasks get what the first one asks for.
  bool allow_other_task = false;
  // Where nodes go that ask for nothing, if there is a kernel; a device text, may be partial or empty.
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
