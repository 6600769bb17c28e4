#ifndef SLUICE_KERNELS_RUN_CONTEXT_H_
#define SLUICE_KERNELS_RUN_CONTEXT_H_

#include "absl/time/time.h"
#include "graph/base/strong_id.h"
#include "graph/value/allocator.h"

struct SluiceGemmPlugin;  // kernels/linalg/gemm_plugin.h

namespace sluice {

class CallFrame;
class CancellationManager;
class Device;
class NodeObserver;  // executor/trace/node_observer.h
class Rendezvous;
class ResourceManager;
class SessionState;
class StepContainer;
class TaskRunner;
class TensorStore;

// The facilities of one run. The caller of a run fills them in as the base of Executor::Args, the executor adds the
// device's facts, and kernels, and the runs that they start, read them.
// Every pointer may be null; a kernel that needs it then fails with kFacilityMissing. Borrowed: all of it outlives the
// run.
struct RunContext {
  StepId step_id;  // Unique in the process; the same for all executors of one step.
  // The device and its state. Set by the executor, which ignores its caller's value.
  Device* device = nullptr;
  ResourceManager* resources = nullptr;
  // For outputs; null in Executor::Args: the device's, and where there is none, HostAllocator(). Must outlive the run,
  // as tensors live on in resources and under handles.
  Allocator* allocator = nullptr;
  TaskRunner* task_runner = nullptr;  // For work inside one kernel; the calling thread alone when null.
  StepContainer* step_container = nullptr;
  Rendezvous* rendezvous = nullptr;
  CallFrame* call_frame = nullptr;
  CancellationManager* cancellation = nullptr;
  SessionState* session_state = nullptr;
  TensorStore* tensor_store = nullptr;
  NodeObserver* observer = nullptr;               // Sees every kernel call.
  const SluiceGemmPlugin* gemm_plugin = nullptr;  // For products of floats; our own loops when null.
  // By the wall clock. A run that ends after its deadline fails with kDeadline, even if its last kernel succeeded.
  absl::Time deadline = absl::InfiniteFuture();
  bool deterministic = false;  // The same bits whatever the number of threads.
  // False: `cancellation` is shared (a session's, say). It ends the run, but errors of the run, or of runs that a
  // kernel starts with this record, do not cancel it; an executor that must cancel the rest of a run uses a child
  // manager.
  bool cancel_on_error = true;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_RUN_CONTEXT_H_
