#include "executor/session/partitioned_step.h"

#include <utility>

#include "executor/executor_barrier.h"
#include "executor/node_error.h"
#include "executor/session/span_call_frame.h"
#include "executor/session/step_args.h"
#include "executor/session/step_end.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/placement/partition.h"
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

absl::Status PartitionedStep::AddPart(Graph graph, Device& device, const StepGraph& step, StopPoll* stop) {
  const Graph& whole = step.signature.graph;
  Part part;
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
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
  for (Partition& partition : partitions) {
    SLUICE_ASSIGN_OR_RETURN(Device* const device, owner.FindDevice(partition.location));
    SLUICE_RETURN_IF_ERROR(made->AddPart(std::move(partition.graph), *device, step, stop));
  }
  return made;
}

void PartitionedStep::Start(const Executor::Args& args, Executor::Done done) const {
  if (parts_.empty()) return done(absl::OkStatus());
  const size_t count = parts_.size();
  auto observers = std::make_shared<std::vector<PartObserver>>();
  observers->reserve(count);
  // The part that failed first has cancelled the others with its error; theirs only follow from it.
  ExecutorBarrier& barrier = ExecutorBarrier::Create(
      count, args.rendezvous,
      [observers, cancellation = args.cancellation_manager, done = std::move(done)](absl::Status status) mutable {
        if (!status.ok() && !cancellation->status().ok()) status = cancellation->status();
        done(std::move(status));
      });
  // The parts of a deterministic step take turns on one thread: what comes from another part comes in the same order.
  const bool has_threads = args.task_runner != nullptr && args.task_runner->num_threads() > 1 && !args.deterministic;
  // After the last start the step may be over, and everything gone.
  for (size_t i = 0; i < count; ++i) {
    Executor::Args of_part = args;
    of_part.allocator = nullptr;
    if (args.observer != nullptr) {
      observers->emplace_back(*args.observer, parts_[i].whole_ids);
      of_part.observer = &observers->back();
    }
    auto start = [executor = parts_[i].executor.get(), of_part, ended = barrier.Get()]() mutable {
      executor->RunAsync(of_part, std::move(ended));
    };
    if (has_threads && i + 1 < count) {
      args.task_runner->Schedule(std::move(start));
    } else {
      start();
    }
  }
}

absl::Status PartitionedStep::Run(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const RunContext& run,
                                  const CallOptions& options) const {
  for (Tensor& output : outputs) output = Tensor();
  SpanCallFrame frame(inputs, outputs);
  CancellationManager cancellation(run.cancellation);
  Executor::Args args = StepArgs(run, options);
  args.call_frame = &frame;
  args.cancellation_manager = &cancellation;
  StepEnd end;
  Start(args, [&end](absl::Status status) { end.Set(std::move(status)); });
  if (!end.WaitUntil(options.deadline)) {
    const absl::Status late = DeadlinePassed();
    run.rendezvous->StartAbort(late);
    cancellation.StartCancelWithStatus(late);
  }
  // The parts use what lies in this function.
  return end.Wait();
}

}  // namespace sluice
