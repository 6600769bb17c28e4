#include "graph/placement/device_list.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {

absl::StatusOr<DeviceList> DeviceList::CreateWithIncarnations(
    absl::Span<const std::pair<std::string, int64_t>> devices) {
  DeviceList list;
  for (const auto& [name, incarnation] : devices) {
    DeviceEntry entry;
    if (!ParseDeviceName(name, &entry.parsed) || !entry.parsed.IsFull()) {
      return absl::Status(Error(ErrorCode::kDeviceName)
                              .Text("a device of the session must have a full name")
                              .Found(name)
                              .Expected("/job:NAME/replica:N/task:N/device:KIND:N"));
    }
    entry.name = entry.parsed.ToString();
    entry.incarnation = incarnation;
    if (!list.by_name_.emplace(entry.name, static_cast<int32_t>(list.devices_.size())).second) {
      return absl::Status(Error(ErrorCode::kDeviceName).Text("two devices of the session have one name").Found(name));
    }
    const auto type = std::find(list.types_.begin(), list.types_.end(), entry.parsed.type);
    list.type_of_.push_back(static_cast<int32_t>(type - list.types_.begin()));
    if (type == list.types_.end()) list.types_.push_back(entry.parsed.type);
    if (list.types_.size() > kMaxTypes) {
      return absl::Status(Error(ErrorCode::kDeviceName).Text("too many types of devices").Found(entry.parsed.type));
    }
    list.devices_.push_back(std::move(entry));
  }
  if (list.devices_.empty()) return absl::Status(Error(ErrorCode::kDeviceUnknown).Text("there are no devices"));
  return list;
}

absl::StatusOr<DeviceList> DeviceList::Create(absl::Span<const std::string> names) {
  std::vector<std::pair<std::string, int64_t>> devices;
  for (const std::string& name : names) devices.emplace_back(name, 1);
  return CreateWithIncarnations(devices);
}

int32_t DeviceList::Find(absl::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

std::string DeviceList::ToString() const {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, devices_.size()); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", devices_[i].name);
  }
  if (devices_.size() > kShown) absl::StrAppend(&text, " and ", devices_.size() - kShown, " more");
  return text;
}

}  // namespace sluice
