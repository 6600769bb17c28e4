#ifndef SLUICE_EXECUTOR_SESSION_SESSION_CORE_H_
#define SLUICE_EXECUTOR_SESSION_SESSION_CORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "executor/compiled/local_executor.h"
#include "executor/executor.h"
#include "executor/functions/body_store.h"
#include "executor/plan/call_store.h"
#include "executor/plan/kernel_store.h"
#include "executor/session/call_options.h"
#include "executor/session/session_names.h"
#include "executor/session/session_options.h"
#include "executor/threads/service_threads.h"
#include "graph/base/cancellation.h"
#include "graph/base/hash_table.h"
#include "graph/placement/device_list.h"
#include "kernels/step/session_state.h"
#include "rendezvous/key.h"

namespace sluice {

// What all steps of a session share: devices with their state, threads, kept tensors. Shared by the session and its
// callables, so that a callable outlives its session (and then answers that it is closed). Thread-safe.
class SessionCore {
 public:
  static absl::StatusOr<std::shared_ptr<SessionCore>> Create(const SessionOptions& options);
  // May run on a thread of the core's own, if an asynchronous step holds the last reference.
  ~SessionCore();

  const SessionOptions& options() const { return options_; }
  const KernelRegistry& kernels() const { return *kernels_; }
  // Null: the caller's thread only.
  ThreadPool* pool() const { return pool_; }
  // Returns the pool that CallOptions::pool means; kWrongUse if there is no such pool.
  absl::StatusOr<ThreadPool*> FindPool(int choice) const;
  // Checks the options of a run, and returns its pool (null: the caller's thread only). kWrongUse for an unknown pool
  // or a negative stall_timeout.
  absl::StatusOr<ThreadPool*> CheckOptions(const CallOptions& options) const;
  // The deadline of a run with these options.
  absl::Time DeadlineOf(const CallOptions& options) const {
    const absl::Duration timeout = options_.operation_timeout;
    if (timeout == absl::InfiniteDuration() || options.deadline != absl::InfiniteFuture()) return options.deadline;
    return absl::Now() + timeout;
  }
  // How long a run with these options may stall before it is reported; infinite: it is not watched.
  absl::Duration PatienceOf(const CallOptions& options) const {
    const bool says = options.stall_timeout != absl::ZeroDuration();
    return says ? options.stall_timeout : options_.stall_timeout;
  }
  // Returns how to compile a graph on `device` and make its executor. `edges` number its transfers, and outlive it;
  // `stop` is polled and may be null.
  LocalExecutorParams ExecutorParams(Device& device, EdgeTable& edges, StopPoll* stop) const;
  // The executor of the kind that the options name, for a graph of its own: a part of a step, or all of it for kinds of
  // hosts. `call_store` and `functions`, which may be null: see KernelSet.
  absl::StatusOr<std::unique_ptr<Executor>> MakeExecutor(Device& device, Graph graph, EdgeTable& edges,
                                                         const CallStore& call_store, FunctionFinder* functions,
                                                         StopPoll* stop);
  // Frees the name and version for other sessions.
  void ReleaseName() { name_.Release(); }
  Device& device(size_t i) const { return *(*devices_)[i]; }
  // Finds a device by its full name; kPartition if there is none.
  absl::StatusOr<Device*> FindDevice(absl::string_view name) const;
  size_t num_devices() const { return devices_->size(); }
  const DeviceList& device_list() const { return *device_list_; }
  SessionState& state() { return state_; }
  // Kernels with state, and those that plans share. See Note [Kernel store].
  KernelStore& kernel_store() const { return kernel_store_; }
  // Of functions that steps call. They run on the first device.
  BodyStore& body_store() const { return *body_store_; }
  // Cancelled when the session is closed.
  CancellationManager& cancellation() { return cancellation_; }
  // Closed() when the session is closed.
  absl::Status CheckIsOpen() const { return cancellation_.IsCancelling() ? Closed() : absl::OkStatus(); }
  // kSessionClosed.
  static absl::Status Closed();
  // A number that no other step of the process has.
  static StepId NewStepId();
  // Counts the steps run by name, and those of them that failed. Here, since a step may end after its session.
  void CountRun(bool is_ok) {
    num_runs_.fetch_add(1, std::memory_order_relaxed);  // Relaxed, like the other: counts only.
    if (!is_ok) num_errors_.fetch_add(1, std::memory_order_relaxed);
  }
  int64_t num_runs() const { return num_runs_.load(std::memory_order_relaxed); }
  int64_t num_errors() const { return num_errors_.load(std::memory_order_relaxed); }

 private:
  // Pools that the core has made, or shares by name. If one of their own threads drops the core, a service thread ends
  // them.
  class Pools final : public ServiceThreads::Task {
   public:
    void RunTask() noexcept override { delete this; }
    bool HasThisThread() const;

    std::unique_ptr<ThreadPool> own;
    std::vector<std::shared_ptr<ThreadPool>> others;  // Of the options; null: one thread, the caller's.
  };

  explicit SessionCore(const SessionOptions& options)
      : options_(options),
        pools_(std::make_unique<Pools>()),
        state_(options.files),
        kernel_store_(/*allows_in_file=*/options.gemm_plugin == nullptr) {}

  absl::Status AddPools();

  SessionOptions options_;
  SessionNameClaim name_;
  const KernelRegistry* kernels_ = nullptr;
  const ExecutorKinds* executor_kinds_ = nullptr;
  std::unique_ptr<Pools> pools_;
  ThreadPool* pool_ = nullptr;
  std::shared_ptr<std::vector<std::unique_ptr<Device>>> devices_;
  HashMap<std::string, Device*> devices_by_name_;
  std::unique_ptr<DeviceList> device_list_;
  SessionState state_;
  mutable KernelStore kernel_store_;  // Guards itself.
  std::unique_ptr<BodyStore> body_store_;
  CancellationManager cancellation_;
  std::atomic<int64_t> num_runs_{0};
  std::atomic<int64_t> num_errors_{0};
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_SESSION_CORE_H_
