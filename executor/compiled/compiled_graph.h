#ifndef SLUICE_EXECUTOR_COMPILED_COMPILED_GRAPH_H_
#define SLUICE_EXECUTOR_COMPILED_COMPILED_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "executor/dataflow/executor_plan.h"
#include "executor/driver.h"
#include "executor/plan/kernel_set.h"
#include "executor/serial/serial_program.h"
#include "graph/base/limits.h"
#include "graph/base/mutex.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/graph.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// A graph on one device with everything that its runs share: its kernels, made once for both drivers, and the plans of
// both. The serial program is made at once if the graph can be written as one, with segments if it waits; the dataflow
// driver's plan is made when it is first needed. Executors share it (NewExecutor in local_executor.h).
//
//   CompiledGraph::Options options;
//   options.device = &device;
//   options.registry = &BuiltinKernels();
//   SLUICE_ASSIGN_OR_RETURN(const auto compiled, CompiledGraph::Create(std::move(graph), options));
//
// Can be used without a session; with one, uses its stores. Immutable except for the plan that is made later and the
// costs measured in it, which change no result; thread-safe.
class CompiledGraph {
 public:
  // All borrowed. Device, registry, edges and store must outlive the compiled graph; the others are used only in
  // Create. (MakeDataflowPlan takes a `stop` of its own.)
  struct Options {
    Device* device = nullptr;
    absl::Span<Device* const> node_devices;  // See KernelSet.
    const KernelRegistry* registry = nullptr;
    // Where Send and Recv nodes get the numbers of their edges. If a run's rendezvous uses another table, or this is
    // null, each transfer must look up its edge in the rendezvous' table.
    EdgeTable* edges = nullptr;
    const CreateKernel* create_kernel = nullptr;  // Instead of the registry, when set: then the driver is dataflow.
    KernelStore* kernel_store = nullptr;          // See KernelSet.
    int64_t store_generation = KernelStore::kAnyGeneration;  // See KernelSet.
    const CallStore* call_store = nullptr;                   // See KernelSet. Used in Create alone, like the next two.
    absl::string_view store_scope;                           // See KernelSet.
    FunctionFinder* functions = nullptr;                     // See KernelSet.
    const CalledBodies* bodies = nullptr;                    // See KernelSet. They outlive what is compiled.
    LoadLimits limits;                                       // For frames.
    StopPoll* stop = nullptr;                                // Polled while the graph is compiled; null: never stops.
    Driver driver = Driver::kAuto;
    // Some synchronous kernel may poll whether it should stop, so the run's deadline must be signalled. False for those
    // of this build.
    bool kernels_may_poll = true;
    // Whether runs with an observer use the dataflow driver, which also calls the kernels of arguments and results.
    // Only for Driver::kAuto.
    bool observes_ports = true;
  };

  // Checks `graph` and makes its kernels (errors as of KernelSet::Create and SerialStructure::Analyze), then the plan
  // that `options.driver` asks for. kCannotRun if that is a serial program and the graph has none.
  static absl::StatusOr<std::shared_ptr<const CompiledGraph>> Create(std::shared_ptr<const Graph> graph,
                                                                     const Options& options);
  static absl::StatusOr<std::shared_ptr<const CompiledGraph>> Create(Graph graph, const Options& options);
  CompiledGraph(const CompiledGraph&) = delete;
  CompiledGraph& operator=(const CompiledGraph&) = delete;
  ~CompiledGraph();

  const Graph& graph() const { return *graph_; }
  const KernelSet& kernels() const { return *kernels_; }
  Device* device() const { return device_; }  // May be null.
  Driver driver() const { return driver_; }
  // Null: the graph is not run serially, and why_no_program() says why; or it waits.
  const SerialProgram* program() const { return waits_ ? nullptr : program_.get(); }
  // The program, with segments (Note [Segments] in executor/serial/segment_plan.h), of a graph that waits; or null.
  const SerialProgram* waiting_program() const { return waits_ ? program_.get() : nullptr; }
  const std::string& why_no_program() const { return why_no_program_; }
  // Returns the dataflow driver's plan, made by the first call that succeeds; concurrent calls wait for it. Lives as
  // long as this. `stop` is polled; it may be null.
  absl::StatusOr<const ExecutorPlan*> MakeDataflowPlan(StopPoll* stop) const ABSL_LOCKS_EXCLUDED(mu_);
  bool HasDataflowPlan() const ABSL_LOCKS_EXCLUDED(mu_);

  // See Options.
  bool observes_ports() const { return observes_ports_; }
  // Whether some kernel of the program may run beyond a deadline and ask whether it should stop.
  bool may_take_long() const { return may_take_long_; }

 private:
  struct DataflowPlan;

  CompiledGraph(std::shared_ptr<const Graph> graph, const Options& options);

  absl::Status Compile(const Options& options);
  absl::Status CompileSerial(const Options& options);
  // Whether arguments and results are numbered as calls number them, each once.
  bool HasPlainPorts() const;

  // Immutable after Create.
  const std::shared_ptr<const Graph> graph_;
  Device* const device_;
  const Driver driver_;
  const LoadLimits limits_;
  std::vector<StreamDevice*> stream_devices_;  // Of some node, each once.
  const bool may_forward_;                     // Nodes that only hand a value on need no call of their kernel.
  const bool observes_ports_;
  bool may_take_long_ = false;
  bool waits_ = false;  // The program has segments.
  std::unique_ptr<const KernelSet> kernels_;
  std::unique_ptr<const SerialProgram> program_;
  std::string why_no_program_;

  mutable Mutex mu_;
  mutable std::unique_ptr<const DataflowPlan> dataflow_ ABSL_GUARDED_BY(mu_);  // Null until first needed.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_COMPILED_COMPILED_GRAPH_H_
