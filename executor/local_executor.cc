#include "executor/local_executor.h"

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
    of_node.constant = of_node.kernel->ConstantValue();
    of_node.is_async = of_node.kernel->AsAsync() != nullptr;
    of_node.cost_hint = static_cast<uint8_t>(of_node.kernel->cost_hint());
    of_node.is_forward = may_forward && ForwardsItsInput(graph, id);
  }
  return facts;
}

// GradSum is no op like others: the propagators know it, and its kernel runs on those inputs that are live. Makes the
// kernels of such nodes and adds them to `facts`.
absl::Status AddGradSums(const Graph& graph, const LocalExecutorParams& params, std::vector<NodeFacts>* facts,
                         std::vector<std::unique_ptr<const Kernel>>* kernels) {
  if (params.registry == nullptr) return absl::OkStatus();
  const DeviceKind kind = params.device != nullptr ? params.device->kind() : DeviceKind::kCpu;
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    const NodeId id(i);
    if (!graph.Contains(id) || graph.op(id).op_class != OpClass::kGradSum) continue;
    const KernelConstruction construction(graph, id, params.device, params.edges);
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, params.registry->Create(construction, kind));
    (*facts)[static_cast<size_t>(id.value())].kernel = kernel.get();
    kernels->push_back(std::move(kernel));
  }
  return absl::OkStatus();
}

// See local_executor.h. `Propagator` as the graph needs.
template <typename Propagator>
class LocalExecutor final : public Executor {
 public:
  LocalExecutor(const LocalExecutorParams& params, std::unique_ptr<const Graph> graph, KernelSet kernels,
                std::vector<std::unique_ptr<const Kernel>> grad_sums, GraphView view)
      : graph_(std::move(graph)),
        kernels_(std::move(kernels)),
        grad_sums_(std::move(grad_sums)),
        view_(std::move(view)),
        pool_(view_, &ChildFrameNumber) {
    plan_.graph = graph_.get();
    plan_.view = &view_;
    plan_.device = params.device;
    plan_.edges = params.edges;
    plan_.costs = std::make_unique<std::atomic<NodeCost>[]>(view_.num_items());
  }

  void RunAsync(const Args& args, Done done) const override {
    ExecutorState<Propagator>::RunAsync(plan_, pool_, args, std::move(done));
  }
  absl::Status Run(const Args& args) const override { return ExecutorState<Propagator>::Run(plan_, pool_, args); }

 private:
  const std::unique_ptr<const Graph> graph_;
  const KernelSet kernels_;
  const std::vector<std::unique_ptr<const Kernel>> grad_sums_;
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

}  // namespace

absl::StatusOr<std::unique_ptr<Executor>> NewLocalExecutor(const LocalExecutorParams& params, Graph graph) {
  auto owned = std::make_unique<const Graph>(std::move(graph));
  KernelSet::Options options;
  options.registry = params.registry;
  options.device = params.device;
  options.node_devices = params.node_devices;
  options.edges = params.edges;
  options.create = params.create_kernel;
  // Checks the graph: what comes after relies on it.
  SLUICE_ASSIGN_OR_RETURN(KernelSet kernels, KernelSet::Create(*owned, options));
  SLUICE_ASSIGN_OR_RETURN(const ControlFlowInfo frames, BuildControlFlowInfo(*owned, params.limits));
  std::vector<NodeFacts> facts = MakeFacts(*owned, kernels, params.create_kernel == nullptr);
  std::vector<std::unique_ptr<const Kernel>> grad_sums;
  SLUICE_RETURN_IF_ERROR(AddGradSums(*owned, params, &facts, &grad_sums));
  SLUICE_ASSIGN_OR_RETURN(GraphView view, GraphView::Create(*owned, frames, facts));
  if (view.has_frames()) {
    return std::make_unique<LocalExecutor<FramedPropagator>>(params, std::move(owned), std::move(kernels),
                                                             std::move(grad_sums), std::move(view));
  }
  return std::make_unique<LocalExecutor<FlatPropagator>>(params, std::move(owned), std::move(kernels),
                                                         std::move(grad_sums), std::move(view));
}

absl::StatusOr<std::unique_ptr<Executor>> NewExecutor(absl::string_view kind, const LocalExecutorParams& params,
                                                      Graph graph) {
  if (kind != "" && kind != kDefaultExecutor && kind != kSingleThreadedExecutor) {
    return Error(ErrorCode::kOpNotFound).Text(absl::StrCat("there is no executor of kind '", kind, "'"));
  }
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, NewLocalExecutor(params, std::move(graph)));
  if (kind != kSingleThreadedExecutor) return executor;
  return std::make_unique<SingleThreadedExecutor>(std::move(executor));
}

}  // namespace sluice
