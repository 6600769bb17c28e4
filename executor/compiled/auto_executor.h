#ifndef SLUICE_EXECUTOR_COMPILED_AUTO_EXECUTOR_H_
#define SLUICE_EXECUTOR_COMPILED_AUTO_EXECUTOR_H_

#include <memory>

#include "absl/base/optimization.h"
#include "executor/compiled/compiled_graph.h"
#include "executor/compiled/driver_choice.h"
#include "executor/compiled/lazy_dataflow.h"
#include "executor/executor.h"

namespace sluice {

// Runs a graph by its plain executor (SerialExecutor, or WaitingExecutor where it waits), or by the dataflow driver
// where that turns out to be faster. There is a choice only for runs that have several threads and need not be
// deterministic. They use dataflow if the graph waits and several kernels are long by their cost hints; otherwise
// DriverChoice decides, by the time of runs or, if the graph waits, of their kernels. Runs whose observer must see
// ports use dataflow. The first run that needs the dataflow executor makes it.
// Immutable except for measurements and that executor; thread-safe.
class AutoExecutor final : public Executor {
 public:
  // `plain` runs the program of `compiled`, which has one.
  AutoExecutor(std::shared_ptr<const CompiledGraph> compiled, std::unique_ptr<const Executor> plain);

  void RunAsync(const Args& args, Done done) const override;
  absl::Status Run(const Args& args) const override;
  bool RunsAtOnce(const Args& args) const override;

 private:
  class Measured;
  // The executor of one run.
  struct Chosen {
    const Executor& executor;
    DriverChoice::Decision decision;
    bool is_measured;
  };

  // Whether a run must use dataflow because it observes something that only that driver shows.
  bool MustBeDataflow(const Args& args) const {
    return ABSL_PREDICT_FALSE(args.observer != nullptr) && compiled_->observes_ports();
  }
  // For a run with several threads.
  Chosen Choose(const Args& args) const;

  const std::shared_ptr<const CompiledGraph> compiled_;
  const std::unique_ptr<const Executor> plain_;
  const bool is_for_threads_;  // Runs with several threads have work for them, by the hints of its kernels.
  // Side tables that change no result; they guard themselves.
  mutable DriverChoice choice_;
  mutable LazyDataflow dataflow_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_AUTO_EXECUTOR_H_
