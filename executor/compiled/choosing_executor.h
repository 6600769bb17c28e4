#ifndef SLUICE_EXECUTOR_COMPILED_CHOOSING_EXECUTOR_H_
#define SLUICE_EXECUTOR_COMPILED_CHOOSING_EXECUTOR_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "executor/compiled/compiled_graph.h"
#include "executor/compiled/driver_choice.h"
#include "executor/compiled/serial_executor.h"
#include "executor/executor.h"
#include "graph/base/mutex.h"
#include "graph/base/stop_poll.h"

namespace sluice {

// Runs a graph serially, or by the dataflow driver where that turns out to be faster: only runs that are given several
// threads, and need not repeat themselves bit by bit, have a choice (DriverChoice). The dataflow driver's executor is
// made by the first run that wants it.
// Immutable, but for what it has measured and for that executor; thread-safe.
class ChoosingExecutor final : public Executor {
 public:
  // REQUIRES: compiled->program() != nullptr.
  explicit ChoosingExecutor(std::shared_ptr<const CompiledGraph> compiled);

  void RunAsync(const Args& args, Done done) const override;
  absl::Status Run(const Args& args) const override;

 private:
  // A run under way whose time will be recorded.
  struct Timed {
    Done done;
    int64_t start_ns = 0;
  };

  // Whether a run has no choice, but observes what only the dataflow driver shows.
  bool MustBeDataflow(const Args& args) const {
    return ABSL_PREDICT_FALSE(args.observer != nullptr) && compiled_->observes_ports();
  }
  // The other driver's executor; null while another thread makes it, and where the deadline or the cancellation of this
  // run comes first.
  const Executor* FindDataflow(const Args& args) const ABSL_LOCKS_EXCLUDED(mu_);
  // The same for a run that must have it: waits, or says why there is none.
  absl::StatusOr<const Executor*> MakeDataflow(const Args& args) const ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status MakeLocked(StopPoll* stop) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<const CompiledGraph> compiled_;
  const SerialExecutor serial_;
  // Side tables that change no result; they guard themselves.
  mutable DriverChoice choice_;
  mutable std::atomic<const Executor*> dataflow_{nullptr};  // Release: what it points to is written before.
  mutable std::atomic<bool> has_given_up_{false};           // Relaxed: a hint.
  mutable Mutex mu_;
  mutable std::unique_ptr<const Executor> own_dataflow_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_CHOOSING_EXECUTOR_H_
