#ifndef SLUICE_EXECUTOR_COMPILED_SERIAL_EXECUTOR_H_
#define SLUICE_EXECUTOR_COMPILED_SERIAL_EXECUTOR_H_

#include <memory>

#include "executor/compiled/compiled_graph.h"
#include "executor/executor.h"
#include "executor/serial/port_calls.h"
#include "executor/serial/serial_run.h"

namespace sluice {

// Runs the serial program of a graph: on the thread that calls Run or RunAsync, or where Args::runner takes it, without
// a lock or an allocation of its own if the program is small. Its `done` is called before RunAsync returns, unless
// there is a runner, or the thread is in many runs already (Note [Deferred runs]). Arguments and results move directly
// between the program and a SpanCallFrame; other frames are called once for each. Immutable, but for memory kept
// between runs; thread-safe.
class SerialExecutor final : public Executor {
 public:
  // REQUIRES: compiled->program() != nullptr.
  explicit SerialExecutor(std::shared_ptr<const CompiledGraph> compiled);

  void RunAsync(const Args& args, Done done) const override;
  absl::Status Run(const Args& args) const override;
  bool RunsAtOnce(const Args& args) const override;

 private:
  class Start;

  // Runs on this thread, even if there is a runner.
  absl::Status RunHere(const Args& args) const noexcept;
  void RunAndTell(const Args& args, Done done) const noexcept;
  absl::Status RunWith(RunContext& run) const;
  // Runs with a timer that stops kernels that poll at the deadline.
  absl::Status RunUntilDeadline(RunContext& run) const;
  absl::Status RunProgram(const RunContext& run) const;
  absl::Status RunIn(Entry* registers, const RunContext& run) const;

  const std::shared_ptr<const CompiledGraph> compiled_;
  const SerialProgram& program_;
  const PortCalls ports_;
  mutable RegisterPool registers_;  // Changes no result.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_SERIAL_EXECUTOR_H_
