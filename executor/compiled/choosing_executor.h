#ifndef SLUICE_EXECUTOR_COMPILED_CHOOSING_EXECUTOR_H_
#define SLUICE_EXECUTOR_COMPILED_CHOOSING_EXECUTOR_H_

#include <cstdint>
#include <memory>

#include "absl/base/optimization.h"
#include "executor/compiled/compiled_graph.h"
#include "executor/compiled/driver_choice.h"
#include "executor/compiled/lazy_dataflow.h"
#include "executor/compiled/serial_executor.h"
#include "executor/executor.h"

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
  bool RunsAtOnce(const Args& args) const override;

 private:
  // A run under way whose time will be recorded.
  struct Timed {
    Done done;
    DriverChoice::Decision decision;
    int64_t start_ns = 0;
  };

  // Whether a run has no choice, but observes what only the dataflow driver shows.
  bool MustBeDataflow(const Args& args) const {
    return ABSL_PREDICT_FALSE(args.observer != nullptr) && compiled_->observes_ports();
  }

  const std::shared_ptr<const CompiledGraph> compiled_;
  const SerialExecutor serial_;
  // Side tables that change no result; they guard themselves.
  mutable DriverChoice choice_;
  mutable LazyDataflow dataflow_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_CHOOSING_EXECUTOR_H_
