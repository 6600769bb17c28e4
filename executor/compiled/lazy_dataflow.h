#ifndef SLUICE_EXECUTOR_COMPILED_LAZY_DATAFLOW_H_
#define SLUICE_EXECUTOR_COMPILED_LAZY_DATAFLOW_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/compiled/compiled_graph.h"
#include "executor/executor.h"
#include "graph/base/mutex.h"
#include "graph/base/stop_poll.h"

namespace sluice {

// The dataflow executor of a graph that has another executor too, made by the first run that needs it. Thread-safe.
class LazyDataflow {
 public:
  explicit LazyDataflow(std::shared_ptr<const CompiledGraph> compiled) : compiled_(std::move(compiled)) {}

  // Returns null while another thread makes it, or if this run's deadline or cancellation comes first.
  const Executor* Find(const Executor::Args& args) ABSL_LOCKS_EXCLUDED(mu_);
  // As Find, for a run that has no other executor: waits until it is made, or returns the error.
  absl::StatusOr<const Executor*> Make(const Executor::Args& args) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::Status MakeLocked(StopPoll* stop) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<const CompiledGraph> compiled_;
  std::atomic<const Executor*> made_{nullptr};  // Release: what it points to is written before.
  std::atomic<bool> has_given_up_{false};       // Relaxed: a hint.
  Mutex mu_;
  std::unique_ptr<const Executor> own_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_LAZY_DATAFLOW_H_
