#include "executor/session/partitioned_step.h"

#include <exception>
#include <optional>
#include <utility>

#include "executor/cancellation_link.h"
#include "executor/executor_barrier.h"
#include "executor/once_callback.h"
#include "executor/run_setup.h"
#include "executor/run_status.h"
#include "executor/session/step_tasks.h"
#include "executor/threads/thread_runs.h"
#include "graph/base/as_status.h"
#include "graph/base/cancellation.h"
#include "graph/base/status_macros.h"
#include "graph/placement/copy_nodes.h"
#include "graph/placement/partition.h"
#include "rendezvous/rendezvous.h"

namespace sluice {
namespace {

// Reports the nodes of a part to the whole graph's observer, without those that the cut added. Thread-safe.
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
  void OnCalledNode(const CalledNode& node, int64_t start_ns, int64_t end_ns, const KernelContext& context) override {
    const NodeId whole = whole_ids_[static_cast<size_t>(node.call.value())];
    if (whole.valid()) observer_.OnCalledNode({node.body, node.node, whole, node.path}, start_ns, end_ns, context);
  }

 private:
  NodeObserver& observer_;
  const std::vector<NodeId>& whole_ids_;
};

// Whether a run needs a manager of its own, through which an error of one part ends the others.
bool NeedsManager(const Executor::Args& args) { return args.cancellation == nullptr || !args.cancel_on_error; }

}  // namespace

// Lives until all parts of a step have ended.
struct PartitionedStep::Running {
  struct Part {
    void Start() noexcept {
      const Executor::Args lent = args;  // The last `ended` frees these, perhaps inside of the call.
      try {
        executor->RunAsync(lent, std::move(ended));
      } catch (...) {
        LogCaught("the RunAsync of an executor");  // Which has dropped the callback, or will call it.
      }
    }
    // Instead of starting it, where a runner drops its task: the part fails, and the other parts are told.
    void WasDropped() noexcept {
      // Where Schedule throws, it has no room for the task.
      const absl::Status error = std::uncaught_exceptions() > 0
                                     ? OutOfMemoryError()
                                     : DroppedError("the task runner dropped a part of the step instead of running it");
      CallDone(std::move(ended), FailRun(args, error));
    }

    const Executor* executor = nullptr;
    Executor::Args args;
    Executor::Done ended;
  };

  explicit Running(size_t count) : parts(count) { observers.reserve(count); }

  // Calls `done`, with the cause of the first error: the part that failed first has cancelled the others with it, and
  // theirs only follow from it.
  static void End(std::unique_ptr<Running> self, absl::Status status) noexcept {
    if (!status.ok() && !self->cancellation->status().ok()) status = self->cancellation->status();
    Done done = std::move(self->done);
    self.reset();  // What it borrows may go in `done`.
    CallDone(std::move(done), status);
  }
  // There was no memory to start the parts.
  static void WasDropped(std::unique_ptr<Running> self) noexcept {
    absl::Status status = FailRun(self->parts.front().args, OutOfMemoryError());
    End(std::move(self), std::move(status));
  }

  std::vector<Part> parts;
  std::vector<PartObserver> observers;
  std::optional<ChildManager> own_cancellation;
  CancellationManager* cancellation = nullptr;  // Cancelled by the first error.
  Executor::Done done;
};

absl::Status PartitionedStep::AddPart(const Graph& whole, Graph graph, Device& device, EdgeTable& edges,
                                      const CallStore& call_store, FunctionFinder* functions, StopPoll* stop) {
  if (device.AsStreamDevice() != nullptr) SLUICE_RETURN_IF_ERROR(InsertCopies(graph, core_->kernels()));
  Part part;
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    SLUICE_RETURN_IF_ERROR(PollStop(stop));
    const NodeId id(i);
    part.whole_ids.push_back(graph.Contains(id) ? whole.Find(graph.name(id)) : NodeId());
  }
  SLUICE_ASSIGN_OR_RETURN(part.executor,
                          core_->MakeExecutor(device, std::move(graph), edges, call_store, functions, stop));
  parts_.push_back(std::move(part));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<const PartitionedStep>> PartitionedStep::Create(
    std::shared_ptr<SessionCore> core, const Graph& whole, bool is_cut, EdgeTable& edges, const CallStore& call_store,
    FunctionFinder* functions, StopPoll* stop) {
  std::unique_ptr<PartitionedStep> made(new PartitionedStep(std::move(core)));
  SessionCore& owner = *made->core_;
  if (!is_cut) {
    SLUICE_RETURN_IF_ERROR(made->AddPart(whole, whole, owner.device(0), edges, call_store, functions, stop));
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
    SLUICE_RETURN_IF_ERROR(
        made->AddPart(whole, std::move(partition.graph), *device, edges, call_store, functions, stop));
  }
  return made;
}

void PartitionedStep::RunAsync(const Args& args, Done done) const {
  if (parts_.empty()) return EndAtOnce(std::move(done), absl::OkStatus());
  std::unique_ptr<Running> running;
  try {
    running = std::make_unique<Running>(parts_.size());
    running->cancellation = args.cancellation;
    if (NeedsManager(args)) running->cancellation = &running->own_cancellation.emplace(args.cancellation).manager();
  } catch (...) {
    return EndAtOnce(std::move(done), FailRun(args, StatusOfCaught()));
  }
  running->done = std::move(done);
  for (size_t i = 0; i < parts_.size(); ++i) {
    Running::Part& part = running->parts[i];
    part.executor = parts_[i].executor.get();
    part.args = args;
    part.args.allocator = nullptr;
    part.args.cancellation = running->cancellation;
    part.args.cancel_on_error = true;
    if (args.observer == nullptr) continue;
    running->observers.emplace_back(*args.observer, parts_[i].whole_ids);  // Reserved.
    part.args.observer = &running->observers.back();
  }
  StartParts(args, std::move(running));
}

void PartitionedStep::StartParts(const Args& args, std::unique_ptr<Running> running) {
  // The parts of a deterministic step take turns on one thread, so that values cross in the same order.
  const bool has_threads = args.task_runner != nullptr && RunSetup::HasSeveralThreads(args);
  using End = OnceCallback<std::unique_ptr<Running>, &Running::End, &Running::WasDropped>;
  using Start = OnceCallback<Running::Part*, &Running::Part::Start, &Running::Part::WasDropped>;
  std::vector<Running::Part>& parts = running->parts;
  const size_t count = parts.size();
  try {
    ExecutorBarrier& barrier = ExecutorBarrier::Create(count, args.rendezvous, End(std::move(running)));
    for (Running::Part& part : parts) part.ended = barrier.Get();
  } catch (...) {
    return;  // End goes uncalled, and so calls `done`.
  }
  // The last start may end the step and free everything.
  for (size_t i = 0; i < count; ++i) {
    Running::Part& part = parts[i];
    if (!has_threads || i + 1 == count) {
      part.Start();
      continue;
    }
    try {
      args.task_runner->Schedule(Start(&part));
    } catch (...) {
      // The dropped task has failed the part.
    }
  }
}

absl::Status PartitionedStep::Run(const Args& args) const {
  if (args.runner != nullptr) return Executor::Run(args);
  return AsStatus([&] {
    const ThreadRuns::AwaitScope awaited(args.step_id);  // Parts that RunAsync begins work here.
    std::optional<ChildManager> own_cancellation;
    StepTasks tasks(args.run_all_kernels_inline ? nullptr : args.task_runner, args.step_id);
    Args run = args;
    if (NeedsManager(args)) run.cancellation = &own_cancellation.emplace(args.cancellation).manager();
    run.cancel_on_error = true;
    run.task_runner = &tasks;
    RunAsync(run, [&tasks](absl::Status status) { tasks.End(std::move(status)); });
    if (!tasks.WorkUntil(args.deadline)) {
      const ThreadRuns::Scope scope;  // See Note [Deferred runs] for what it sets free.
      RunStatus(run.rendezvous, run.cancellation, args.deadline).CheckDeadline();
    }
    // The parts use locals of this function.
    return tasks.WorkToEnd();
  });
}

}  // namespace sluice
