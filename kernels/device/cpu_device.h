#ifndef SLUICE_KERNELS_DEVICE_CPU_DEVICE_H_
#define SLUICE_KERNELS_DEVICE_CPU_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "kernels/device/device.h"

namespace sluice {

// The processor: work is done when the kernel returns. Borrows its allocator (HostAllocator() without one).
// Thread-safe.
class CpuDevice : public Device {
 public:
  CpuDevice(std::string name, int64_t incarnation, Allocator* allocator = nullptr);

  Allocator& allocator() override { return allocator_; }
  absl::Status Sync() override { return absl::OkStatus(); }

 private:
  Allocator& allocator_;
};

// "<prefix>/device:CPU:0" to `count` - 1, with random incarnations. `allocator` may be null.
std::vector<std::unique_ptr<Device>> MakeCpuDevices(int count, absl::string_view prefix, Allocator* allocator);

inline constexpr absl::string_view kLocalTask = "/job:localhost/replica:0/task:0";

}  // namespace sluice

#endif  // SLUICE_KERNELS_DEVICE_CPU_DEVICE_H_
