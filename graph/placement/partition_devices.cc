#include "graph/placement/partition_devices.h"

#include <algorithm>

#include "graph/base/device_name.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"

namespace sluice {

absl::StatusOr<PartitionDevices> PartitionDevices::Find(const Graph& graph, const PartitionOptions& options) {
  PartitionDevices found;
  found.device_of_.assign(static_cast<size_t>(graph.id_limit()), -1);
  HashMap<absl::string_view, int32_t> known;
  std::vector<std::string> location_of;  // By device.
  for (NodeId id : graph.Nodes()) {
    const auto inserted = known.emplace(graph.device(id), static_cast<int32_t>(found.devices_.size()));
    found.device_of_[static_cast<size_t>(id.value())] = inserted.first->second;
    if (!inserted.second) continue;
    DeviceName name;
    if (!ParseDeviceName(graph.device(id), &name) || !name.IsFull()) {
      return graph.Locate(
          id,
          Error(ErrorCode::kPartition).Text("has no full device name; place the graph first").Found(graph.device(id)));
    }
    Device device;
    device.name = std::string(graph.device(id));
    device.is_cpu = name.type == "CPU";
    device.type = name.type;
    const int32_t index = options.devices == nullptr ? -1 : options.devices->Find(device.name);
    if (index >= 0) device.incarnation = options.devices->devices()[static_cast<size_t>(index)].incarnation;
    location_of.push_back(options.by_task ? TaskName(name) : device.name);
    found.devices_.push_back(std::move(device));
  }
  found.locations_ = location_of;
  std::sort(found.locations_.begin(), found.locations_.end());
  found.locations_.erase(std::unique(found.locations_.begin(), found.locations_.end()), found.locations_.end());
  for (size_t i = 0; i < location_of.size(); ++i) {
    const auto place = std::lower_bound(found.locations_.begin(), found.locations_.end(), location_of[i]);
    found.devices_[i].location = static_cast<int32_t>(place - found.locations_.begin());
  }
  return found;
}

}  // namespace sluice
