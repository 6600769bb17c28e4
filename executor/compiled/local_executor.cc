#include "executor/compiled/local_executor.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/executor_plan.h"
#include "executor/executor_state.h"
#include "executor/propagator_pool.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/op_class.h"
#include "rendezvous/frame_hash.h"

namespace sluice {
namespace {

// Whether the propagators may carry the node out: it gives its only input unchanged.
bool ForwardsItsInput(const Graph& graph, NodeId id) {
  const Signature& signature = graph.signature(id);
  return graph.op(id).op_class == OpClass::kForward && signature.inputs.size() == 1 && !IsRef(signature.outputs[0]);
}

// What frames are told of each node, by id.
std::vector<NodeFacts> MakeFacts(const Graph& graph, const KernelSet& kernels, bool may_forward) {
  std::vector<NodeFacts> facts(static_cast<size_t>(graph.id_limit()));
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    const NodeId id(i);
    if (!graph.Contains(id)) continue;
    NodeFacts& of_node = facts[static_cast<size_t>(i)];
    of_node.kernel = kernels.kernel(id);
    if (of_node.kernel == nullptr) continue;
    of_node.constant = kernels.constant(graph, id);
    of_node.is_async = of_node.kernel->AsAsync() != nullptr;
    // A GradSum runs on the inputs that are live, of any number: not handed over.
    const bool is_grad_sum = graph.op(id).op_class == OpClass::kGradSum;
    if (!is_grad_sum) of_node.cost_hint = static_cast<uint8_t>(of_node.kernel->cost_hint());
    of_node.is_forward = may_forward && ForwardsItsInput(graph, id);
  }
  return facts;
}

// A graph and its kernels, of an executor that has them to itself.
struct OwnGraph {
  explicit OwnGraph(Graph of_executor) : graph(std::move(of_executor)) {}

  const Graph graph;
  std::unique_ptr<const KernelSet> kernels;
};

// See local_executor.h. `Propagator` as the graph needs.
template <typename Propagator>
class LocalExecutor final : public Executor {
 public:
  // `own` is null where graph and kernels are the caller's.
  LocalExecutor(const LocalExecutorParams& params, std::unique_ptr<const OwnGraph> own, const Graph& graph,
                GraphView view)
      : own_(std::move(own)), view_(std::move(view)), pool_(view_, &ChildFrameNumber) {
    plan_.graph = &graph;
    plan_.view = &view_;
    plan_.device = params.device;
    plan_.costs = std::make_unique<std::atomic<NodeCost>[]>(view_.num_items());
  }

  void RunAsync(const Args& args, Done done) const override {
    ExecutorState<Propagator>::RunAsync(plan_, pool_, args, std::move(done));
  }
  absl::Status Run(const Args& args) const override { return ExecutorState<Propagator>::Run(plan_, pool_, args); }

 private:
  const std::unique_ptr<const OwnGraph> own_;
  const GraphView view_;
  ExecutorPlan plan_;
  mutable PropagatorPool<Propagator> pool_;  // Memory kept between runs; changes no result.
};

// Runs another executor on one thread at a time. Immutable.
class SingleThreadedExecutor final : public Executor {
 public:
  explicit SingleThreadedExecutor(std::unique_ptr<Executor> executor) : executor_(std::move(executor)) {}

  void RunAsync(const Args& args, Done done) const override { executor_->RunAsync(Inline(args), std::move(done)); }
  absl::Status Run(const Args& args) const override { return executor_->Run(Inline(args)); }

 private:
  static Args Inline(Args args) {
    args.run_all_kernels_inline = true;
    return args;
  }
  const std::unique_ptr<Executor> executor_;
};

absl::StatusOr<std::unique_ptr<Executor>> Make(const LocalExecutorParams& params, const ControlFlowInfo& frames,
                                               std::unique_ptr<const OwnGraph> own, const Graph& graph,
                                               const KernelSet& kernels) {
  SLUICE_RETURN_IF_ERROR(PollStop(params.stop, graph.id_limit()));
  const std::vector<NodeFacts> facts = MakeFacts(graph, kernels, params.create_kernel == nullptr);
  SLUICE_RETURN_IF_ERROR(PollStop(params.stop, graph.id_limit()));
  SLUICE_ASSIGN_OR_RETURN(GraphView view, GraphView::Create(graph, frames, facts, params.stop));
  if (view.has_frames()) {
    return std::make_unique<LocalExecutor<FramedPropagator>>(params, std::move(own), graph, std::move(view));
  }
  return std::make_unique<LocalExecutor<FlatPropagator>>(params, std::move(own), graph, std::move(view));
}

absl::Status CheckKind(absl::string_view kind) {
  if (kind == "" || kind == kDefaultExecutor || kind == kSingleThreadedExecutor) return absl::OkStatus();
  return Error(ErrorCode::kOpNotFound).Text(absl::StrCat("there is no executor of kind '", kind, "'"));
}

std::unique_ptr<Executor> OfKind(absl::string_view kind, std::unique_ptr<Executor> executor) {
  if (kind != kSingleThreadedExecutor) return executor;
  return std::make_unique<SingleThreadedExecutor>(std::move(executor));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executor>> NewLocalExecutor(const LocalExecutorParams& params, Graph graph) {
  auto own = std::make_unique<OwnGraph>(std::move(graph));
  KernelSet::Options options;
  options.registry = params.registry;
  options.device = params.device;
  options.node_devices = params.node_devices;
  options.edges = params.edges;
  options.create = params.create_kernel;
  options.store = params.kernel_store;
  options.stop = params.stop;
  // Checks the graph: what comes after relies on it.
  SLUICE_ASSIGN_OR_RETURN(KernelSet kernels, KernelSet::Create(own->graph, options));
  SLUICE_ASSIGN_OR_RETURN(const ControlFlowInfo frames, BuildControlFlowInfo(own->graph, params.limits));
  own->kernels = std::make_unique<const KernelSet>(std::move(kernels));
  const OwnGraph& owned = *own;
  return Make(params, frames, std::move(own), owned.graph, *owned.kernels);
}

absl::StatusOr<std::unique_ptr<Executor>> NewExecutor(absl::string_view kind, const LocalExecutorParams& params,
                                                      Graph graph) {
  SLUICE_RETURN_IF_ERROR(CheckKind(kind));
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, NewLocalExecutor(params, std::move(graph)));
  return OfKind(kind, std::move(executor));
}

absl::StatusOr<std::unique_ptr<Executor>> NewExecutor(absl::string_view kind, const LocalExecutorParams& params,
                                                      const Graph& graph, const KernelSet& kernels) {
  SLUICE_RETURN_IF_ERROR(CheckKind(kind));
  SLUICE_ASSIGN_OR_RETURN(const ControlFlowInfo frames, BuildControlFlowInfo(graph, params.limits));
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Make(params, frames, nullptr, graph, kernels));
  return OfKind(kind, std::move(executor));
}

}  // namespace sluice
