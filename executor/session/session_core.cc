#include "executor/session/session_core.h"

#include <string>
#include <utility>

#include "graph/base/status_macros.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "kernels/memory/cpu_allocator.h"

namespace sluice {
namespace {

// Sanitizers see every tensor by itself only where it comes from the heap.
Allocator& DefaultAllocator() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SLUICE_TSAN)
  return HostAllocator();
#else
  return CpuAllocator();
#endif
}

}  // namespace

absl::StatusOr<std::shared_ptr<SessionCore>> SessionCore::Create(const SessionOptions& options) {
  std::shared_ptr<SessionCore> core(new SessionCore(options));
  core->kernels_ = options.kernels != nullptr ? options.kernels : &BuiltinKernels();
  core->devices_ = options.devices;
  if (core->devices_ == nullptr) {
    Allocator* const allocator = options.allocator != nullptr ? options.allocator : &DefaultAllocator();
    core->devices_ = std::make_shared<std::vector<std::unique_ptr<Device>>>(
        MakeCpuDevices(options.num_cpu_devices, kLocalTask, allocator));
  }
  std::vector<std::pair<std::string, int64_t>> names;
  for (const std::unique_ptr<Device>& device : *core->devices_) {
    names.emplace_back(device->name(), device->incarnation());
  }
  SLUICE_ASSIGN_OR_RETURN(DeviceList list, DeviceList::CreateWithIncarnations(names));
  core->device_list_ = std::make_unique<DeviceList>(std::move(list));
  if (options.pool != nullptr) {
    core->pool_ = options.pool;
  } else if (options.num_threads != 1) {
    ThreadPoolOptions pool;
    pool.num_threads = options.num_threads;
    core->own_pool_ = std::make_unique<ThreadPool>(pool);
    core->pool_ = core->own_pool_.get();
  }
  return core;
}

StepId SessionCore::NewStepId() {
  static std::atomic<int64_t> next{1};
  return StepId(next.fetch_add(1, std::memory_order_relaxed));  // Relaxed: unique only.
}

}  // namespace sluice
