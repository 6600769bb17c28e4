#ifndef SLUICE_KERNELS_DEVICE_DEVICE_H_
#define SLUICE_KERNELS_DEVICE_DEVICE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "graph/value/allocator.h"
#include "graph/value/device_context.h"
#include "kernels/device/device_kind.h"
#include "kernels/resources/resource_manager.h"

namespace sluice {

class StreamDevice;

// Where kernels run: names, memory, and the state that outlives runs. Shared by all sessions that were given it.
// Thread-safe.
class Device {
 public:
  Device(DeviceKind kind, std::string name, int64_t incarnation)
      : kind_(kind), name_(std::move(name)), incarnation_(incarnation) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  DeviceKind kind() const { return kind_; }
  // Full: "/job:localhost/replica:0/task:0/device:CPU:0".
  const std::string& name() const { return name_; }
  int64_t incarnation() const { return incarnation_; }
  ResourceManager& resources() { return resources_; }

  virtual Allocator& allocator() = 0;
  // Waits until all work queued on the device is done; its errors, if any. OK at once where work is done immediately.
  virtual absl::Status Sync() = 0;
  // The context that Send nodes of this device pass on; null if values need none.
  virtual CountedPtr<DeviceContext> context() { return {}; }
  // This device, if it works asynchronously in its own memory (Note [Streams] in stream.h); null if kernels have done
  // their work when they return.
  virtual StreamDevice* AsStreamDevice() { return nullptr; }

 private:
  const DeviceKind kind_;
  const std::string name_;
  const int64_t incarnation_;
  ResourceManager resources_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_DEVICE_DEVICE_H_
