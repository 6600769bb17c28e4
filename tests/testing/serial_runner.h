#ifndef SLUICE_TESTS_TESTING_SERIAL_RUNNER_H_
#define SLUICE_TESTS_TESTING_SERIAL_RUNNER_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "executor/plan/kernel_set.h"
#include "executor/serial/serial_program.h"
#include "executor/serial/serial_run.h"
#include "executor/trace/node_observer.h"
#include "graph/base/status_macros.h"
#include "graph/ir/graph.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "kernels/step/step_container.h"
#include "tests/testing/token_evaluator.h"

namespace sluice {

// What a run of a SerialRunner is told.
struct SerialRunOptions {
  absl::Time deadline = absl::InfiniteFuture();
  NodeObserver* observer = nullptr;  // Null: the runner counts the calls.
};

// A graph with its kernels on a device of its own, to be run as a serial program or by the rules. Each has its own
// state. Not thread-safe.
class SerialRunner {
 public:
  explicit SerialRunner(Graph graph) : graph_(std::move(graph)) {}

  // Makes the kernels and the program; the first may fail, the second may be refused (why_not).
  absl::Status Prepare() {
    KernelSet::Options options;
    options.registry = &BuiltinKernels();
    options.device = &device_;
    SLUICE_ASSIGN_OR_RETURN(KernelSet kernels, KernelSet::Create(graph_, options));
    kernels_ = std::make_unique<KernelSet>(std::move(kernels));
    SLUICE_ASSIGN_OR_RETURN(program_, SerialProgram::Compile(graph_, *kernels_, &why_not_));
    return absl::OkStatus();
  }

  // One run. Results that are dead have no value.
  absl::StatusOr<std::vector<Tensor>> Run(std::vector<Tensor> args, SerialRunOptions options = {}) {
    Counter counter;
    if (options.observer == nullptr) options.observer = &counter;
    StepContainer container(StepId(++steps_));
    RunContext run = NewRun(&container);
    run.cancellation = cancellation;
    run.deadline = options.deadline;
    run.observer = options.observer;
    RegisterPool pool(program_->num_registers());
    std::unique_ptr<Entry[]> registers = pool.Take();
    for (size_t i = 0; i < args.size() && i < program_->arguments().size(); ++i) {
      if (program_->arguments()[i] >= 0) registers[program_->arguments()[i]].SetValue(std::move(args[i]));
    }
    std::vector<Tensor> results(program_->results().size());
    const absl::Status status = RunSerialProgram(*program_, registers.get(), run, absl::MakeSpan(results));
    pool.Put(std::move(registers));
    times_run_ = std::move(counter.times);
    if (!status.ok()) return status;
    return results;
  }

  // The same by the rules, on the state of this runner's device.
  absl::Status Evaluate(std::vector<Tensor> args, std::unique_ptr<TokenEvaluator>* evaluator,
                        int64_t max_nodes = 1'000'000) {
    StepContainer container(StepId(++steps_));
    const RunContext run = NewRun(&container);
    *evaluator = std::make_unique<TokenEvaluator>(graph_, *kernels_, run, std::move(args));
    return (*evaluator)->Run(max_nodes);
  }

  const Graph& graph() const { return graph_; }
  const KernelSet& kernels() const { return *kernels_; }
  const SerialProgram* program() const { return program_.get(); }
  const std::string& why_not() const { return why_not_; }
  Device& device() { return device_; }
  // Kernel calls of the last run without an observer of its own.
  int64_t times_run(NodeId id) const {
    const auto found = times_run_.find(id);
    return found != times_run_.end() ? found->second : 0;
  }

  CancellationManager* cancellation = nullptr;  // Of the next runs.

 private:
  class Counter : public NodeObserver {
   public:
    void OnNode(NodeId node, int64_t, int64_t, const KernelContext&) override { ++times[node]; }
    std::map<NodeId, int64_t> times;
  };

  RunContext NewRun(StepContainer* container) {
    RunContext run;
    run.step_id = container->step_id();
    run.device = &device_;
    run.resources = &device_.resources();
    run.step_container = container;
    return run;
  }

  CpuDevice device_{absl::StrCat(kLocalTask, "/device:CPU:0"), 1};
  Graph graph_;
  std::unique_ptr<KernelSet> kernels_;
  std::unique_ptr<const SerialProgram> program_;
  std::string why_not_;
  std::map<NodeId, int64_t> times_run_;
  int64_t steps_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_SERIAL_RUNNER_H_
