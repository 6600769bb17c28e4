#ifndef SLUICE_EXECUTOR_SESSION_SESSION_OPTIONS_H_
#define SLUICE_EXECUTOR_SESSION_SESSION_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "executor/compiled/executor_kinds.h"
#include "executor/driver.h"
#include "executor/session/session_names.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/limits.h"
#include "graph/functions/call_choice.h"
#include "graph/passes/simplify.h"
#include "kernels/device/device.h"
#include "kernels/kernel_registry.h"
#include "kernels/step/file_access.h"

struct SluiceGemmPlugin;  // kernels/linalg/gemm_plugin.h

namespace sluice {

// A pool beside the session's own that calls may choose: for steps that should not wait for others, or not disturb
// them.
struct SessionPool {
  int num_threads = 0;  // As in SessionOptions.
  std::string name;     // The process's pool of this name, shared by all sessions that name it. Empty: the session's.
};

// How a session runs. Pointers are borrowed and must outlive the session, its callables and its asynchronous steps;
// null means a default.
struct SessionOptions {
  // Threads of the session's own pool, the caller included; 0: as many as processors, 1: the caller's thread only.
  int num_threads = 0;
  // A pool to use instead: shared by sessions.
  ThreadPool* pool = nullptr;
  // For CallOptions::pool.
  std::vector<SessionPool> pools;
  int num_cpu_devices = 1;
  // The devices to use instead, with their state (variables): shared by sessions. Feeds and fetches are the first
  // one's, so that must be one whose memory the host can read.
  std::shared_ptr<std::vector<std::unique_ptr<Device>>> devices;
  // Cut steps over several devices at their borders even where devices share memory and threads: each device runs its
  // part by itself, and values cross through the step's rendezvous. See Note [Joined devices] in step_graph.h.
  bool cut_by_device = false;
  const KernelRegistry* kernels = nullptr;  // BuiltinKernels().
  Allocator* allocator = nullptr;
  // Multiplies float matrices: see OpenGemmPlugin in kernels/linalg/gemm_library.h. Null: our own loops.
  const SluiceGemmPlugin* gemm_plugin = nullptr;
  // Runs steps that are not cut.
  Driver driver = Driver::kAuto;
  // The kind of executor that runs steps, and each part of those that are cut, by name: see NewExecutor and
  // ExecutorKinds. With kSingleThreadedExecutor, a step (a part) uses one thread at a time, also inside kernels,
  // whichever driver runs it.
  std::string executor;
  const ExecutorKinds* executor_kinds = nullptr;  // ExecutorKinds::Builtin().
  // If the device that a node requests does not exist, use another one of its job and task instead of an error; or
  // (both) one of this session, whatever job and task the node names.
  bool allow_soft_placement = false;
  bool allow_other_task = false;
  // Which calls of functions are replaced by the bodies, and which stay calls: Note [Called or inlined] in
  // graph/functions/call_choice.h. All are inlined in sessions with several devices or one that is not a CPU, in
  // partial runs, and for executors of hosts.
  CallPolicy function_calls = CallPolicy::kByCost;
  // The same bits for any number of threads.
  bool deterministic = false;
  // For calls of Session::Run, RunAsync and PRun, and of callables, that have no deadline. Not for Prepare and
  // PRunSetup, whose step may wait for the next PRun without limit.
  absl::Duration operation_timeout = absl::InfiniteDuration();
  // For runs that do not say otherwise: when to report that one hangs; see CallOptions. Above zero. Every kernel call
  // of a watched run costs some 100 ns more.
  absl::Duration stall_timeout = absl::InfiniteDuration();
  // How many prepared signatures Run keeps; the least recently used go.
  size_t max_prepared = 64;
  // How many partial runs may be open: each keeps the memory of a step. More are refused (kLimitRuns); failed ones do
  // not count.
  size_t max_partial_runs = 1024;
  LoadLimits limits;
  // Which files the model's ops may read and write: see Note [Files are granted] in kernels/step/file_access.h.
  FileAccess files;
  // What preparing a signature simplifies (drops unused nodes, folds constants, joins equal nodes): see Note
  // [Simplifying a step].
  SimplifyOptions simplify;
  SessionMetadata metadata;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_SESSION_OPTIONS_H_
