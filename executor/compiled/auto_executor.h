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
// where that turns out to be faster. Only runs that are given several threads, and need not repeat themselves bit by
// bit, have a choice: where the graph waits and several kernels take long by their own hints, they go by dataflow; else
// DriverChoice decides, by their time or, where the graph waits, by that of their kernels. Runs whose observer is to
// hear of ports go by dataflow. Its executor is made by the first run that wants it.
// Immutable, but for what it has measured and for that executor; thread-safe.
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

  // Whether a run has no choice, but observes what only the dataflow driver shows.
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
