#include "executor/session/partitioned_step.h"

#include <utility>

#include "executor/executor_barrier.h"
#include "executor/run_status.h"
#include "executor/session/step_args.h"
#include "executor/session/step_tasks.h"
#include "graph/base/as_status.h"
#include "graph/base/status_macros.h"
#include "graph/placement/partition.h"
#include "kernels/step/span_call_frame.h"
#include "rendezvous/rendezvous.h"

namespace sluice {
namespace {

// Tells an observer of a whole graph what the nodes of a part do. Nodes that the cut added are left out. Thread-safe.
class PartObserver : public NodeObserver {
 public:
  // `whole_ids` by the part's ids. Borrows both.
  PartObserver(NodeObserver& observer, const std::vector<NodeId>& whole_ids)
      : observer_(observer), whole_ids_(whole_ids) {}

  void OnStart(NodeId node, int64_t start_ns) override {
    const NodeId whole = whole_ids_[static_cast<size_t>(node.value())];
    if (whole.valid()) observer_.OnStart(whole, start_ns);
  }
  void OnFailure(NodeId node, int64_t start_ns) override {
    const NodeId whole = whole_ids_[static_cast<size_t>(node.value())];
    if (whole.valid()) observer_.OnFailure(whole, start_ns);
  }
  void OnNode(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context) override {
    const NodeId whole = whole_ids_[static_cast<size_t>(node.value())];
    if (whole.valid()) observer_.OnNode(whole, start_ns, end_ns, context);
  }

 private:
  NodeObserver& observer_;
  const std::vector<NodeId>& whole_ids_;
};

}  // namespace

// What lives until all parts of a step have ended.
struct PartitionedStep::Running {
  struct Part {
    void Start() { executor->RunAsync(args, std::move(ended)); }

    const Executor* executor = nullptr;
    Executor::Args args;
    Executor::Done ended;
  };

  explicit Running(size_t count) : parts(count) { observers.reserve(count); }

  std::vector<Part> parts;
  std::vector<PartObserver> observers;
  CancellationManager* cancellation = nullptr;
  Executor::Done done;
};

// Calls the `done` of a step, with the cause of its first error: the part that failed first has cancelled the others
// with it, and theirs only follow from it. Where it goes uncalled, it calls `done` with kOutOfMemory. One thread's.
class PartitionedStep::EndOfParts {
 public:
  explicit EndOfParts(std::unique_ptr<Running> running) : running_(std::move(running)) {}
  EndOfParts(EndOfParts&&) noexcept = default;
  EndOfParts& operator=(EndOfParts&&) = delete;
  ~EndOfParts() {
    if (running_ != nullptr) Call(OutOfMemoryError());
  }
  void operator()(absl::Status status) { Call(std::move(status)); }

 private:
  void Call(absl::Status status) {
    const std::unique_ptr<Running> running = std::move(running_);
    if (!status.ok() && !running->cancellation->status().ok()) status = running->cancellation->status();
    std::move(running->done)(std::move(status));
  }

  std::unique_ptr<Running> running_;  // Null: moved or called.
};

absl::Status PartitionedStep::AddPart(Graph graph, Device& device, const StepGraph& step, StopPoll* stop) {
  const Graph& whole = step.signature.graph;
  Part part;
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    SLUICE_RETURN_IF_ERROR(PollStop(stop));
    const NodeId id(i);
    part.whole_ids.push_back(graph.Contains(id) ? whole.Find(graph.name(id)) : NodeId());
  }
  SLUICE_ASSIGN_OR_RETURN(part.executor, core_->MakeExecutor(device, std::move(graph), *step.edges, stop));
  parts_.push_back(std::move(part));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<const PartitionedStep>> PartitionedStep::Create(std::shared_ptr<SessionCore> core,
                                                                               const StepGraph& step, StopPoll* stop) {
  const Graph& whole = step.signature.graph;
  std::unique_ptr<PartitionedStep> made(new PartitionedStep(std::move(core)));
  SessionCore& owner = *made->core_;
  if (!step.is_cut) {
    SLUICE_RETURN_IF_ERROR(made->AddPart(whole, owner.device(0), step, stop));
    return made;
  }
  PartitionOptions options;
  options.catalog = &owner.kernels();
  options.devices = &owner.device_list();
  options.limits = owner.options().limits;
  SLUICE_ASSIGN_OR_RETURN(std::vector<Partition> partitions, PartitionGraph(whole, options));
  SLUICE_RETURN_IF_ERROR(PollStop(stop, whole.id_limit()));
  for (Partition& partition : partitions) {
    SLUICE_ASSIGN_OR_RETURN(Device* const device, owner.FindDevice(partition.location));
    SLUICE_RETURN_IF_ERROR(made->AddPart(std::move(partition.graph), *device, step, stop));
  }
  return made;
}

void PartitionedStep::Start(const Executor::Args& args, Executor::Done done) const {
  if (parts_.empty()) return done(absl::OkStatus());
  std::unique_ptr<Running> running;
  try {
    running = std::make_unique<Running>(parts_.size());
  } catch (...) {
    return done(StatusOfCaught());
  }
  running->cancellation = args.cancellation;
  running->done = std::move(done);
  for (size_t i = 0; i < parts_.size(); ++i) {
    Running::Part& part = running->parts[i];
    part.executor = parts_[i].executor.get();
    part.args = args;
    part.args.allocator = nullptr;
    if (args.observer == nullptr) continue;
    running->observers.emplace_back(*args.observer, parts_[i].whole_ids);  // Reserved.
    part.args.observer = &running->observers.back();
  }
  StartParts(args, std::move(running));
}

void PartitionedStep::StartParts(const Executor::Args& args, std::unique_ptr<Running> running) {
  // The parts of a deterministic step take turns on one thread: what comes from another part comes in the same order.
  const bool has_threads = args.task_runner != nullptr && args.task_runner->num_threads() > 1 && !args.deterministic;
  std::vector<Running::Part>& parts = running->parts;
  const size_t count = parts.size();
  try {
    ExecutorBarrier& barrier = ExecutorBarrier::Create(count, args.rendezvous, EndOfParts(std::move(running)));
    for (Running::Part& part : parts) part.ended = barrier.Get();
  } catch (...) {
    return;  // EndOfParts goes uncalled, and so calls `done`.
  }
  // After the last start the step may be over, and everything gone.
  for (size_t i = 0; i < count; ++i) {
    Running::Part& part = parts[i];
    if (!has_threads || i + 1 == count) {
      part.Start();
      continue;
    }
    try {
      args.task_runner->Schedule([&part] { part.Start(); });
    } catch (...) {
      std::move(part.ended)(StatusOfCaught());
    }
  }
}

absl::Status PartitionedStep::Run(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const RunContext& run,
                                  const CallOptions& options) const {
  for (Tensor& output : outputs) output = Tensor();
  SpanCallFrame frame(inputs, outputs);
  CancellationManager cancellation(run.cancellation);
  StepTasks tasks(run.task_runner);
  Executor::Args args = StepArgs(run, options);
  args.call_frame = &frame;
  args.cancellation = &cancellation;
  args.task_runner = &tasks;
  Start(args, [&tasks](absl::Status status) { tasks.End(std::move(status)); });
  if (!tasks.WorkUntil(options.deadline)) {
    RunStatus(run.rendezvous, &cancellation, options.deadline).CheckDeadline();
  }
  // The parts use what lies in this function.
  return tasks.WorkToEnd();
}

}  // namespace sluice
