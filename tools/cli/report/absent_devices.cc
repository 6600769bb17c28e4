#include "tools/cli/report/absent_devices.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/device_name.h"
#include "graph/base/error.h"
#include "tools/cli/console/number_text.h"

namespace sluice {
namespace {

constexpr absl::string_view kHere = "/job:localhost/replica:0/task:0/device:CPU:0";

}  // namespace

bool IsAbsentDevice(absl::string_view device) {
  DeviceName wanted, here;
  return ParseDeviceName(kHere, &here) && ParseDeviceName(device, &wanted) && !MatchesDevice(wanted, here);
}

void AbsentDevices::Add(absl::string_view node, absl::string_view device) {
  if (num_nodes++ > 0) return;
  first_node = PrintableName(node);
  first_device = PrintableName(device);
}

std::string AbsentDevices::Note() const {
  if (num_nodes == 0) return "";
  const bool is_one = num_nodes == 1;
  return absl::StrCat(CountOf(num_nodes, "node"), is_one ? " asks" : " ask", " for a device that is not here ('",
                      first_node, "' wants ", first_device, "); the CPU runs ", is_one ? "it" : "them");
}

AbsentDevices FindAbsentDevices(const Graph& graph) {
  AbsentDevices found;
  std::string last;  // Neighbouring nodes mostly request the same device.
  bool is_absent = false;
  const auto look = [&](absl::string_view node, absl::string_view device) {
    if (device != last) is_absent = IsAbsentDevice(device);
    last = std::string(device);
    if (is_absent) found.Add(node, device);
  };
  for (const NodeId id : graph.Nodes()) look(graph.name(id), graph.device(id));
  for (const std::string& name : graph.library().Names()) {
    const std::shared_ptr<const FunctionDefinition> function = graph.library().Find(name);
    for (const NodeDefView& node : function->nodes) look(absl::StrCat(name, "/", node.name), node.device);
  }
  return found;
}

}  // namespace sluice
