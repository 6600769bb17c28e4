#ifndef SLUICE_GRAPH_PLACEMENT_DEVICE_LIST_H_
#define SLUICE_GRAPH_PLACEMENT_DEVICE_LIST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/device_name.h"
#include "graph/base/hash_table.h"

namespace sluice {

// A device that nodes may be placed on.
struct DeviceEntry {
  std::string name;  // Full and canonical.
  DeviceName parsed;
  int64_t incarnation = 0;  // Changes when the device's process starts anew; part of rendezvous keys.
};

// The devices of one session, in the order given; the first one is the client's. Immutable.
class DeviceList {
 public:
  // Sets of device types are 32-bit words.
  static constexpr size_t kMaxTypes = 32;

  // Devices with these full names and incarnation 1. kDeviceName for a name that is not full or occurs twice, or for
  // more than kMaxTypes types; kDeviceUnknown for an empty list.
  static absl::StatusOr<DeviceList> Create(absl::Span<const std::string> names);
  // The same, with the incarnation of each.
  static absl::StatusOr<DeviceList> CreateWithIncarnations(absl::Span<const std::pair<std::string, int64_t>> devices);

  absl::Span<const DeviceEntry> devices() const { return devices_; }
  const DeviceEntry& client() const { return devices_.front(); }
  // Index of the device with this full name, or -1.
  int32_t Find(absl::string_view name) const;
  // Distinct device types, in order of appearance.
  const std::vector<std::string>& types() const { return types_; }
  // Index in types() of the type of device `i`.
  int32_t type_of(size_t i) const { return type_of_[i]; }
  // The names for messages; the first few and a count when there are many.
  std::string ToString() const;

 private:
  DeviceList() = default;

  std::vector<DeviceEntry> devices_;
  std::vector<std::string> types_;
  std::vector<int32_t> type_of_;
  HashMap<std::string, int32_t> by_name_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_DEVICE_LIST_H_
