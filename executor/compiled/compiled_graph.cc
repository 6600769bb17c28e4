#include "executor/compiled/compiled_graph.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

// Indices of arguments and results beyond the number of nodes by more than this are a mistake.
constexpr int64_t kSpareIndices = 4096;

// Whether the propagators may carry the node out: it gives its only input unchanged.
bool ForwardsItsInput(const Graph& graph, NodeId id) {
  const Signature& signature = graph.signature(id);
  return graph.op(id).op_class == OpClass::kForward && signature.inputs.size() == 1 && !IsRef(signature.outputs[0]);
}

// Facts of each node for the frames, by id.
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

// The devices that work on their own, each once.
std::vector<StreamDevice*> StreamDevicesOf(const CompiledGraph::Options& options) {
  std::vector<StreamDevice*> found;
  const auto add = [&found](Device* device) {
    StreamDevice* const own = device != nullptr ? device->AsStreamDevice() : nullptr;
    if (own != nullptr && std::find(found.begin(), found.end(), own) == found.end()) found.push_back(own);
  };
  add(options.device);
  for (Device* const device : options.node_devices) add(device);
  return found;
}

}  // namespace

struct CompiledGraph::DataflowPlan {
  explicit DataflowPlan(GraphView made) : view(std::move(made)) {}

  const GraphView view;
  ExecutorPlan plan;
};

CompiledGraph::CompiledGraph(std::shared_ptr<const Graph> graph, const Options& options)
    : graph_(std::move(graph)),
      device_(options.device),
      driver_(options.driver),
      limits_(options.limits),
      stream_devices_(StreamDevicesOf(options)),
      may_forward_(options.create_kernel == nullptr),
      observes_ports_(options.observes_ports) {}

CompiledGraph::~CompiledGraph() = default;

absl::StatusOr<std::shared_ptr<const CompiledGraph>> CompiledGraph::Create(Graph graph, const Options& options) {
  return Create(std::make_shared<const Graph>(std::move(graph)), options);
}

absl::StatusOr<std::shared_ptr<const CompiledGraph>> CompiledGraph::Create(std::shared_ptr<const Graph> graph,
                                                                           const Options& options) {
  std::shared_ptr<CompiledGraph> made(new CompiledGraph(std::move(graph), options));
  SLUICE_RETURN_IF_ERROR(made->Compile(options));
  return made;
}

absl::Status CompiledGraph::Compile(const Options& options) {
  KernelSet::Options of_kernels;
  of_kernels.registry = options.registry;
  of_kernels.device = options.device;
  of_kernels.node_devices = options.node_devices;
  of_kernels.edges = options.edges;
  of_kernels.create = options.create_kernel;
  of_kernels.store = options.kernel_store;
  of_kernels.store_generation = options.store_generation;
  of_kernels.call_store = options.call_store;
  of_kernels.store_scope = options.store_scope;
  of_kernels.functions = options.functions;
  of_kernels.bodies = options.bodies;
  of_kernels.stop = options.stop;
  // Checks the graph: what comes after relies on it.
  SLUICE_ASSIGN_OR_RETURN(KernelSet kernels, KernelSet::Create(*graph_, of_kernels));
  kernels_ = std::make_unique<const KernelSet>(std::move(kernels));
  SLUICE_RETURN_IF_ERROR(CompileSerial(options));
  if (driver_ == Driver::kSerial && program_ == nullptr) {
    return Error(ErrorCode::kCannotRun).Text(absl::StrCat("no serial program: ", why_no_program_));
  }
  return program_ != nullptr ? absl::OkStatus() : MakeDataflowPlan(options.stop).status();
}

absl::Status CompiledGraph::CompileSerial(const Options& options) {
  if (driver_ == Driver::kDataflow) {
    why_no_program_ = "the dataflow driver was asked for";
  } else if (!stream_devices_.empty()) {
    why_no_program_ = "some nodes are on devices that work on their own";
  } else if (!may_forward_) {
    why_no_program_ = "the host makes the kernels, also those that a serial program does without";
  } else if (!HasPlainPorts()) {
    why_no_program_ = "arguments or results have an index twice, or one that is too large";
  } else {
    // Segments call no bodies.
    const SerialWaits waits = kernels_->has_bodies() ? SerialWaits::kRefused : SerialWaits::kAllowed;
    SLUICE_ASSIGN_OR_RETURN(
        program_, SerialProgram::Compile(*graph_, *kernels_, &why_no_program_, options.stop, options.limits, waits));
    waits_ = program_ != nullptr && program_->segments() != nullptr;
  }
  if (program_ == nullptr || !options.kernels_may_poll) return absl::OkStatus();
  for (int32_t i = 0; i < graph_->id_limit() && !may_take_long_; ++i) {
    const Kernel* const kernel = graph_->Contains(NodeId(i)) ? kernels_->kernel(NodeId(i)) : nullptr;
    may_take_long_ = kernel != nullptr && kernel->cost_hint() != CostHint::kCheap;
  }
  return absl::OkStatus();
}

bool CompiledGraph::HasPlainPorts() const {
  const int64_t limit = graph_->id_limit() + kSpareIndices;
  std::vector<bool> arguments, results;
  for (int32_t i = 0; i < graph_->id_limit(); ++i) {
    const NodeId id(i);
    if (!graph_->Contains(id)) continue;
    const OpClass op_class = graph_->op(id).op_class;
    if (op_class != OpClass::kArg && op_class != OpClass::kRetval) continue;
    // An argument that waits for something may be dead, and is not taken then.
    if (op_class == OpClass::kArg && !graph_->all_inputs(id).empty()) return false;
    const int64_t index = graph_->GetInt(id, "index").value_or(-1);
    if (index < 0 || index >= limit) return false;
    std::vector<bool>& seen = op_class == OpClass::kArg ? arguments : results;
    if (seen.size() <= static_cast<size_t>(index)) seen.resize(static_cast<size_t>(index) + 1);
    if (seen[static_cast<size_t>(index)]) return false;
    seen[static_cast<size_t>(index)] = true;
  }
  return true;
}

bool CompiledGraph::HasDataflowPlan() const {
  MutexLock lock(&mu_);
  return dataflow_ != nullptr;
}

absl::StatusOr<const ExecutorPlan*> CompiledGraph::MakeDataflowPlan(StopPoll* stop) const {
  MutexLock lock(&mu_);
  if (dataflow_ != nullptr) return &dataflow_->plan;
  SLUICE_ASSIGN_OR_RETURN(const ControlFlowInfo frames, BuildControlFlowInfo(*graph_, limits_));
  SLUICE_RETURN_IF_ERROR(PollStop(stop, graph_->id_limit()));
  const std::vector<NodeFacts> facts = MakeFacts(*graph_, *kernels_, may_forward_);
  SLUICE_RETURN_IF_ERROR(PollStop(stop, graph_->id_limit()));
  SLUICE_ASSIGN_OR_RETURN(GraphView view, GraphView::Create(*graph_, frames, facts, stop));
  auto made = std::make_unique<DataflowPlan>(std::move(view));
  made->plan.graph = graph_.get();
  made->plan.view = &made->view;
  made->plan.device = device_;
  made->plan.stream_devices = stream_devices_;
  made->plan.costs = std::make_unique<std::atomic<NodeCost>[]>(made->view.num_items());
  dataflow_ = std::move(made);
  return &dataflow_->plan;
}

}  // namespace sluice
