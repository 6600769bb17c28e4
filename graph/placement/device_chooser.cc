#include "graph/placement/device_chooser.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice {

DeviceChooser::DeviceChooser(const DeviceList& devices) : devices_(devices), order_(devices.devices().size()) {
  Intern(DeviceName());  // kAnyDevice.
  std::iota(order_.begin(), order_.end(), 0);
  const DeviceName& client = devices.client().parsed;
  const auto rank = [&](int32_t i) {
    const DeviceName& name = devices_.devices()[static_cast<size_t>(i)].parsed;
    const bool local = name.job == client.job && name.replica == client.replica && name.task == client.task;
    return (name.type == "CPU" ? 2 : 0) + (local ? 0 : 1);
  };
  std::stable_sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) { return rank(a) < rank(b); });
  for (int32_t i : order_) {
    const DeviceName& name = devices_.devices()[static_cast<size_t>(i)].parsed;
    by_numbers_[{name.task, name.id}].push_back(i);
    by_numbers_[{name.task, -1}].push_back(i);
    by_numbers_[{-1, name.id}].push_back(i);
  }
}

int32_t DeviceChooser::Intern(const DeviceName& name) {
  const auto inserted = by_canonical_.emplace(name.ToString(), static_cast<int32_t>(patterns_.size()));
  if (inserted.second) patterns_.push_back(name);
  return inserted.first->second;
}

int32_t DeviceChooser::Pattern(absl::string_view text) {
  if (text.empty()) return kAnyDevice;
  const auto found = by_text_.find(text);
  if (found != by_text_.end()) return found->second;
  DeviceName name;
  const int32_t pattern = ParseDeviceName(text, &name) ? Intern(name) : -1;
  by_text_.emplace(text, pattern);
  return pattern;
}

int32_t DeviceChooser::Merge(int32_t a, int32_t b, bool allow_soft) {
  if (a == b || b == kAnyDevice) return a;
  if (a == kAnyDevice) return b;
  const auto inserted = merged_.emplace(std::make_tuple(a, b, allow_soft), -1);
  if (!inserted.second) return inserted.first->second;
  DeviceName name = Name(a);
  if (MergeDeviceNames(Name(b), allow_soft, &name).ok()) inserted.first->second = Intern(name);
  return inserted.first->second;
}

int32_t DeviceChooser::Choose(int32_t pattern, uint32_t types) {
  const auto inserted = chosen_.emplace(std::make_pair(pattern, types), kNoDevice);
  if (inserted.second) inserted.first->second = Search(Name(pattern), types);
  return inserted.first->second;
}

int32_t DeviceChooser::ChooseSoftly(int32_t pattern, uint32_t types, bool any_task) {
  DeviceName name = Name(pattern);
  name.type.clear();
  name.id = -1;
  const int32_t found = Choose(Intern(name), types);
  return found >= 0 || !any_task ? found : Choose(kAnyDevice, types);
}

absl::Span<const int32_t> DeviceChooser::Candidates(const DeviceName& pattern) const {
  if (pattern.task < 0 && pattern.id < 0) return order_;
  const auto found = by_numbers_.find({pattern.task, pattern.id});
  return found == by_numbers_.end() ? absl::Span<const int32_t>() : found->second;
}

int32_t DeviceChooser::Search(const DeviceName& pattern, uint32_t types) const {
  int32_t answer = kNoDevice;
  for (int32_t i : Candidates(pattern)) {
    const size_t index = static_cast<size_t>(i);
    if (!MatchesDevice(pattern, devices_.devices()[index].parsed)) continue;
    if (((types >> devices_.type_of(index)) & 1u) != 0) return i;
    answer = kNoKernel;
  }
  return answer;
}

}  // namespace sluice
