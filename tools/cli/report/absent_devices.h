#ifndef SLUICE_TOOLS_CLI_REPORT_ABSENT_DEVICES_H_
#define SLUICE_TOOLS_CLI_REPORT_ABSENT_DEVICES_H_

// Devices that a model requests and the program lacks: its sessions have one CPU, which runs all nodes.

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"

namespace sluice {

// Whether a node that requests `device` wants another device than the CPU here. False for texts that are not device
// names.
bool IsAbsentDevice(absl::string_view device);

// Such nodes of a model, those in bodies of functions included.
struct AbsentDevices {
  int64_t num_nodes = 0;
  std::string first_node, first_device;  // Printable.

  void Add(absl::string_view node, absl::string_view device);
  // Returns one sentence; empty if there are none.
  std::string Note() const;
};

AbsentDevices FindAbsentDevices(const Graph& graph);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_ABSENT_DEVICES_H_
