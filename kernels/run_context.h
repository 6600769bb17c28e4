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

// What the kernels of one run may use: the one record of a run. Whoever starts a run fills it in as the base of
// Executor::Args, the executor adds the device's facts, and kernels, and the runs that they start, read it.
// Every pointer may be null; a kernel that needs it then fails with kFacilityMissing. Borrowed: all of it outlives the
// run.
struct RunContext {
  StepId step_id;  // Unique in the process; the same for all executors of one step.
  // The executor's, whatever its caller writes here: the device and its state.
  Device* device = nullptr;
  ResourceManager* resources = nullptr;
  // For outputs; null in Executor::Args: the device's, and where there is none, HostAllocator(). What is made in the
  // run may live on in resources and under handles: it outlives those, and not only the run.
  Allocator* allocator = nullptr;
  TaskRunner* task_runner = nullptr;  // For work inside one kernel; the calling thread alone when null.
  StepContainer* step_container = nullptr;
  Rendezvous* rendezvous = nullptr;
  CallFrame* call_frame = nullptr;
  CancellationManager* cancellation = nullptr;
  SessionState* session_state = nullptr;
  TensorStore* tensor_store = nullptr;
  NodeObserver* observer = nullptr;               // Hears of every kernel call.
  const SluiceGemmPlugin* gemm_plugin = nullptr;  // For products of floats; our own loops when null.
  // By the wall clock. A run whose deadline has passed before it was over ends with kDeadline, though its last kernel
  // may have succeeded.
  absl::Time deadline = absl::InfiniteFuture();
  bool deterministic = false;  // The same bits whatever the number of threads.
  // False: `cancellation` is not the step's alone, but a session's, say. It ends the run, and errors leave it as it is,
  // those of runs included that a kernel starts with this record; an executor that has to cancel what is left of a run
  // uses a manager of its own below it.
  bool cancel_on_error = true;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_RUN_CONTEXT_H_
