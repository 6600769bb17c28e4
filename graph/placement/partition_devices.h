#ifndef SLUICE_GRAPH_PLACEMENT_PARTITION_DEVICES_H_
#define SLUICE_GRAPH_PLACEMENT_PARTITION_DEVICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/graph.h"
#include "graph/placement/device_list.h"
#include "graph/placement/partition.h"

namespace sluice {

// Which node of a placed graph is on which device and in which partition. Immutable once found.
class PartitionDevices {
 public:
  struct Device {
    std::string name;
    std::string type;
    int64_t incarnation = 0;
    int32_t location = 0;
    bool is_cpu = false;
  };

  // kPartition for a node without a full device name.
  static absl::StatusOr<PartitionDevices> Find(const Graph& graph, const PartitionOptions& options);

  const Device& of(NodeId id) const { return devices_[index_of(id)]; }
  bool SameDevice(NodeId a, NodeId b) const { return index_of(a) == index_of(b); }
  size_t num_devices() const { return devices_.size(); }
  // Names of the partitions, in ascending order.
  const std::vector<std::string>& locations() const { return locations_; }

 private:
  size_t index_of(NodeId id) const { return static_cast<size_t>(device_of_[static_cast<size_t>(id.value())]); }

  std::vector<Device> devices_;
  std::vector<int32_t> device_of_;  // By node id.
  std::vector<std::string> locations_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_PARTITION_DEVICES_H_
