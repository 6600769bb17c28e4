#include "kernels/device/cpu_device.h"

#include <random>

#include "absl/strings/str_cat.h"

namespace sluice {

CpuDevice::CpuDevice(std::string name, int64_t incarnation, Allocator* allocator)
    : Device(DeviceKind::kCpu, std::move(name), incarnation),
      allocator_(allocator != nullptr ? *allocator : HostAllocator()) {}

std::vector<std::unique_ptr<Device>> MakeCpuDevices(int count, absl::string_view prefix, Allocator* allocator) {
  std::random_device random;
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) {
    // Positive, and not zero, which says that nothing is known.
    const int64_t incarnation = static_cast<int64_t>(((uint64_t{random()} << 31) | random()) >> 1) | 1;
    devices.push_back(std::make_unique<CpuDevice>(absl::StrCat(prefix, "/device:CPU:", i), incarnation, allocator));
  }
  return devices;
}

}  // namespace sluice
