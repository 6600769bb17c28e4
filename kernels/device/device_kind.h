#ifndef SLUICE_KERNELS_DEVICE_DEVICE_KIND_H_
#define SLUICE_KERNELS_DEVICE_DEVICE_KIND_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

enum class DeviceKind : uint8_t { kCpu, kCuda };

// "CPU", "GPU".
constexpr absl::string_view DeviceTypeName(DeviceKind kind) { return kind == DeviceKind::kCpu ? "CPU" : "GPU"; }

}  // namespace sluice

#endif  // SLUICE_KERNELS_DEVICE_DEVICE_KIND_H_
