#ifndef SLUICE_KERNELS_RUN_CONTEXT_H_
#define SLUICE_KERNELS_RUN_CONTEXT_H_

#include <cstdint>

#include "graph/base/strong_id.h"
#include "graph/value/allocator.h"

struct SluiceGemmPlugin;  // kernels/linalg/gemm_plugin.h

namespace sluice {

class CallFrame;
class CancellationManager;
class Device;
class EdgeTable;
class Rendezvous;
class ResourceManager;
class SessionState;
class StepContainer;
class TaskRunner;
class TensorStore;

// What the kernels of one run may use. Every pointer may be null; a kernel that needs it then fails with
// kFacilityMissing. Borrowed: all of it outlives the run.
struct RunContext {
  StepId step_id;
  Device* device = nullptr;
  Allocator* allocator = nullptr;     // For outputs; HostAllocator() when null.
  TaskRunner* task_runner = nullptr;  // For work inside one kernel; the calling thread alone when null.
  ResourceManager* resources = nullptr;
  StepContainer* step_container = nullptr;
  Rendezvous* rendezvous = nullptr;
  EdgeTable* edges = nullptr;  // Of the rendezvous.
  CallFrame* call_frame = nullptr;
  CancellationManager* cancellation = nullptr;
  SessionState* session_state = nullptr;
  TensorStore* tensor_store = nullptr;
  const SluiceGemmPlugin* gemm_plugin = nullptr;  // For products of floats; our own loops when null.
  bool deterministic = false;                     // The same bits whatever the number of threads.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_RUN_CONTEXT_H_
