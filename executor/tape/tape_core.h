#ifndef SLUICE_EXECUTOR_TAPE_TAPE_CORE_H_
#define SLUICE_EXECUTOR_TAPE_TAPE_CORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "executor/tape/common_ops.h"
#include "executor/tape/eager_op.h"
#include "executor/tape/pass_plan.h"
#include "executor/tape/structure_cache.h"
#include "executor/tape/tape_options.h"
#include "executor/threads/thread_pool.h"
#include "kernels/device/cpu_device.h"
#include "kernels/run_context.h"
#include "kernels/step/session_state.h"

namespace sluice {

// Shared by all variables of a tape: ops and their kernels, device and threads, sequence numbers. Thread-safe.
class TapeCore {
 public:
  explicit TapeCore(const TapeOptions& options);
  TapeCore(const TapeCore&) = delete;
  TapeCore& operator=(const TapeCore&) = delete;

  EagerOps& ops() { return ops_; }
  const KernelRegistry& kernels() const { return kernels_; }
  CommonOps& common_ops() { return common_ops_; }
  StructureCache& structures() { return structures_; }
  // For kernels called outside of passes.
  const RunContext& run() const { return run_; }
  uint64_t NextSequence() { return sequence_.fetch_add(1, std::memory_order_relaxed); }  // It only has to grow.
  ThreadPool* pool() const { return pool_.get(); }                                       // Null: one thread.

  Discovery& discovery() { return discovery_; }

 private:
  const KernelRegistry& kernels_;
  std::unique_ptr<ThreadPool> pool_;
  CpuDevice device_;
  SessionState state_;
  EagerOps ops_;
  CommonOps common_ops_{ops_};
  StructureCache structures_;
  RunContext run_;
  std::atomic<uint64_t> sequence_{1};
  Discovery discovery_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_TAPE_CORE_H_
