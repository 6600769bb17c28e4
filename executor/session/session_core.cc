#include "executor/session/session_core.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/session/shared_pools.h"
#include "executor/step_ids.h"
#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "kernels/memory/cpu_allocator.h"

namespace sluice {
namespace {

// Each costs memory and time, and no machine has so many processors.
constexpr int kMaxCpuDevices = 4096;

// Sanitizers can check a tensor only if it is a heap block of its own.
Allocator& DefaultAllocator() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SLUICE_TSAN)
  return HostAllocator();
#else
  return CpuAllocator();
#endif
}

absl::Status BadStallTimeout(absl::Duration found, const char* expected) {
  return Error(ErrorCode::kWrongUse)
      .Found(absl::FormatDuration(found))
      .Expected(expected)
      .Text("a stall_timeout is the time without progress after which a run is reported");
}

}  // namespace

absl::StatusOr<std::shared_ptr<SessionCore>> SessionCore::Create(const SessionOptions& options) {
  std::shared_ptr<SessionCore> core(new SessionCore(options));
  core->kernels_ = options.kernels != nullptr ? options.kernels : &BuiltinKernels();
  core->executor_kinds_ = options.executor_kinds != nullptr ? options.executor_kinds : &ExecutorKinds::Builtin();
  if (!core->executor_kinds_->Has(options.executor)) {
    return Error(ErrorCode::kOpNotFound).Text(absl::StrCat("there is no executor of kind '", options.executor, "'"));
  }
  if (options.stall_timeout <= absl::ZeroDuration()) return BadStallTimeout(options.stall_timeout, "more than zero");
  core->devices_ = options.devices;
  if (core->devices_ == nullptr) {
    if (options.num_cpu_devices > kMaxCpuDevices) {
      return Error(ErrorCode::kWrongUse)
          .Found(absl::StrCat("num_cpu_devices = ", options.num_cpu_devices))
          .Expected(absl::StrCat("at most ", kMaxCpuDevices))
          .Text("a session was asked for too many devices");
    }
    Allocator* const allocator = options.allocator != nullptr ? options.allocator : &DefaultAllocator();
    core->devices_ = std::make_shared<std::vector<std::unique_ptr<Device>>>(
        MakeCpuDevices(options.num_cpu_devices, kLocalTask, allocator));
  }
  for (const std::unique_ptr<Device>& device : *core->devices_) {
    if (device == nullptr) return Error(ErrorCode::kWrongUse).Text("one of the devices for a session is null");
  }
  if (!core->devices_->empty() && core->devices_->front()->AsStreamDevice() != nullptr) {
    return Error(ErrorCode::kWrongUse)
        .Found(core->devices_->front()->name())
        .Expected("a device whose memory the host can read, such as a CPU, first among the devices")
        .Text("a session feeds and fetches on its first device, which has memory of its own");
  }
  std::vector<std::pair<std::string, int64_t>> names;
  for (const std::unique_ptr<Device>& device : *core->devices_) {
    names.emplace_back(device->name(), device->incarnation());
    core->devices_by_name_.emplace(device->name(), device.get());
  }
  SLUICE_ASSIGN_OR_RETURN(DeviceList list, DeviceList::CreateWithIncarnations(names));
  core->device_list_ = std::make_unique<DeviceList>(std::move(list));
  BodyStore::Options bodies;
  bodies.registry = core->kernels_;
  bodies.device = core->devices_->front().get();
  bodies.store = &core->kernel_store_;
  bodies.limits = options.limits;
  core->body_store_ = std::make_unique<BodyStore>(bodies);
  if (options.pool != nullptr) {
    core->pool_ = options.pool;
  } else if (options.num_threads != 1) {
    ThreadPoolOptions pool;
    pool.num_threads = options.num_threads;
    core->pools_->own = std::make_unique<ThreadPool>(pool);
    core->pool_ = core->pools_->own.get();
  }
  SLUICE_RETURN_IF_ERROR(core->AddPools());
  SLUICE_RETURN_IF_ERROR(core->name_.Claim(options.metadata));
  return core;
}

bool SessionCore::Pools::HasThisThread() const {
  const auto has = [](const std::shared_ptr<ThreadPool>& pool) { return pool != nullptr && pool->IsOwnThread(); };
  return (own != nullptr && own->IsOwnThread()) || std::any_of(others.begin(), others.end(), has);
}

SessionCore::~SessionCore() {
  if (!pools_->HasThisThread()) return;
  if (!ServiceThreads::Global().Run(pools_.release())) {
    SLUICE_LOG(ERROR) << "the system gives no thread to end the threads of a session: they stay";
  }
}

absl::Status SessionCore::AddPools() {
  for (const SessionPool& wanted : options_.pools) {
    std::shared_ptr<ThreadPool> pool;
    if (!wanted.name.empty()) {
      SLUICE_ASSIGN_OR_RETURN(pool, SharedPools::Global().Find(wanted.name, wanted.num_threads));
    } else if (wanted.num_threads != 1) {
      ThreadPoolOptions pool_options;
      pool_options.num_threads = wanted.num_threads;
      pool = std::make_shared<ThreadPool>(pool_options);
    }
    pools_->others.push_back(std::move(pool));
  }
  return absl::OkStatus();
}

absl::StatusOr<ThreadPool*> SessionCore::FindPool(int choice) const {
  if (choice == CallOptions::kSessionPool) return pool_;
  if (choice == CallOptions::kCallerThread) return nullptr;
  if (choice < 0 || static_cast<size_t>(choice) > pools_->others.size()) {
    return Error(ErrorCode::kWrongUse)
        .Found(absl::StrCat("pool ", choice))
        .Expected(absl::StrCat("-1 to ", pools_->others.size()))
        .Text("the session has no such pool");
  }
  return pools_->others[static_cast<size_t>(choice) - 1].get();
}

absl::StatusOr<ThreadPool*> SessionCore::CheckOptions(const CallOptions& options) const {
  if (options.stall_timeout < absl::ZeroDuration()) return BadStallTimeout(options.stall_timeout, "at least zero");
  return FindPool(options.pool);
}

absl::StatusOr<Device*> SessionCore::FindDevice(absl::string_view name) const {
  const auto found = devices_by_name_.find(name);
  if (found != devices_by_name_.end()) return found->second;
  return Error(ErrorCode::kPartition).Text(absl::StrCat("there is no device '", name, "'"));
}

LocalExecutorParams SessionCore::ExecutorParams(Device& device, EdgeTable& edges, StopPoll* stop) const {
  LocalExecutorParams params;
  params.device = &device;
  params.registry = kernels_;
  params.edges = &edges;
  params.kernel_store = &kernel_store_;
  params.limits = options_.limits;
  params.stop = stop;
  params.driver = options_.driver;
  params.kernels_may_poll = kernels_ != &BuiltinKernels();
  params.observes_ports = false;
  return params;
}

absl::StatusOr<std::unique_ptr<Executor>> SessionCore::MakeExecutor(Device& device, Graph graph, EdgeTable& edges,
                                                                    const CallStore& call_store,
                                                                    FunctionFinder* functions, StopPoll* stop) {
  LocalExecutorParams params = ExecutorParams(device, edges, stop);
  params.call_store = &call_store;
  params.store_generation = call_store.of_session;
  params.functions = functions;
  if (params.driver == Driver::kSerial) params.driver = Driver::kAuto;  // A serial driver cannot wait for other parts.
  return executor_kinds_->Create(options_.executor, params, std::move(graph));
}

absl::Status SessionCore::Closed() { return Error(ErrorCode::kSessionClosed).Text("the session is closed"); }

StepId SessionCore::NewStepId() { return sluice::NewStepId(); }

}  // namespace sluice
