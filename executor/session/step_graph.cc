#include "executor/session/step_graph.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "executor/functions/kernel_state.h"
#include "executor/session/step_simplifier.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/functions/call_choice.h"
#include "graph/functions/call_site.h"
#include "graph/functions/call_states.h"
#include "graph/functions/inliner.h"
#include "graph/functions/needed_parts.h"
#include "graph/gradients/symbolic_gradients.h"
#include "graph/ir/graph_node.h"
#include "graph/ir/runnable_check.h"
#include "graph/placement/copy_nodes.h"
#include "graph/placement/placer.h"
#include "graph/placement/state_homes.h"
#include "kernels/missing_kernel.h"

namespace sluice {
namespace {

// Whether some node requests a device or colocation; otherwise all are on the only device.
bool AsksForDevices(const Graph& graph) {
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    const NodeId id(i);
    if (graph.Contains(id) && (!graph.device(id).empty() || graph.HasAttr(id, "_class"))) return true;
  }
  return false;
}

// The device of each node, by id; those of removed nodes are null.
absl::StatusOr<std::vector<Device*>> DevicesOf(const Graph& graph, const SessionCore& core) {
  std::vector<Device*> devices(static_cast<size_t>(graph.id_limit()));
  for (const NodeId id : graph.Nodes()) {
    SLUICE_ASSIGN_OR_RETURN(devices[static_cast<size_t>(id.value())], core.FindDevice(graph.device(id)));
  }
  return devices;
}

bool CanJoin(Device& device, Device& first) {
  if (device.AsStreamDevice() != nullptr) return first.kind() == DeviceKind::kCpu;
  return device.kind() == DeviceKind::kCpu && &device.allocator() == &first.allocator() && !device.context();
}

// Whether some of them work on their own.
bool HasStreams(const std::vector<Device*>& devices) {
  return std::any_of(devices.begin(), devices.end(),
                     [](Device* device) { return device != nullptr && device->AsStreamDevice() != nullptr; });
}

// See Note [Joined devices].
bool MustCut(const Graph& graph, const std::vector<Device*>& devices, const SessionCore& core) {
  if (core.options().cut_by_device || !ExecutorKinds::IsBuiltin(core.options().executor)) return true;
  Device& first = core.device(0);
  for (const NodeId id : graph.Nodes()) {
    Device* const device = devices[static_cast<size_t>(id.value())];
    if (!CanJoin(*device, first)) return true;
    for (const Output& input : graph.inputs(id)) {
      const bool is_far = devices[static_cast<size_t>(input.node.value())] != device;
      if (is_far && !input.is_control() && IsRef(graph.output_type(input.node, input.index))) return true;
    }
  }
  return false;
}

bool IsCall(const Graph& graph, NodeId id) {
  return CallKindOf(graph.op_name(id)) == CallKind::kCall || graph.library().Contains(graph.op_name(id));
}

// A catalogue that knows of calls.
class WithCalls final : public KernelCatalog {
 public:
  explicit WithCalls(const KernelCatalog& kernels) : kernels_(kernels) {}

  bool HasKernel(const Graph& graph, NodeId id, absl::string_view device_type) const override {
    return kernels_.HasKernel(graph, id, device_type) || (device_type == "CPU" && IsCall(graph, id));
  }
  bool TakesInputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const override {
    return kernels_.TakesInputOnHost(graph, id, i, device_type);
  }
  bool GivesOutputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const override {
    return kernels_.GivesOutputOnHost(graph, id, i, device_type);
  }

 private:
  const KernelCatalog& kernels_;
};

// Replaces calls by bodies, prunes these, and compiles the bodies that stay called, for this version of the session's
// graph. Returns false if one of them cannot be compiled.
absl::StatusOr<bool> ReplaceCalls(const SessionCore& core, CallPolicy policy, int64_t version, StopPoll* stop,
                                  StepGraph* step) {
  Graph& needed = step->signature.graph;
  const CallChoice choice(needed, policy, [&](const OpSchema& op) { return KeepsState(core.kernels(), op); });
  InlineOptions inlining;
  inlining.limits = core.options().limits;
  inlining.lower_unmarked = true;
  inlining.ignore_marks = true;
  CallStates states;
  inlining.choice = &choice;
  inlining.states = &states;
  inlining.names = &step->call_store->names;
  inlining.stop = stop;
  InlinedParts parts;
  parts.roots = step->signature.targets;
  for (const auto* const ports : {&step->signature.feeds, &step->signature.fetches}) {
    for (const FeedFetchGraph::Port& port : *ports) {
      if (port.node.valid()) parts.roots.push_back(port.node);
    }
  }
  inlining.parts = &parts;
  SLUICE_ASSIGN_OR_RETURN(const InlineReport report, InlineCallsAndGradients(needed, inlining));
  if (report.calls + report.conditionals + report.loops > 0) PruneInlined(needed, parts);
  step->signature.targets = std::move(parts.roots);
  if (report.calls_left == 0) return true;
  BodyStore::Plan plan;
  plan.states = &states;
  plan.call_store = step->call_store.get();
  plan.version = version;
  SLUICE_ASSIGN_OR_RETURN(step->calls, core.body_store().Compile(needed, choice, stop, plan));
  return step->calls.bodies != nullptr;
}

}  // namespace

CallPolicy CallPolicyOf(const SessionCore& core, FeedFetchOptions::Convention convention) {
  const bool may_call = core.num_devices() == 1 && convention == FeedFetchOptions::Convention::kFunction &&
                        ExecutorKinds::IsBuiltin(core.options().executor) &&
                        core.device(0).kind() == DeviceKind::kCpu && core.device(0).AsStreamDevice() == nullptr;
  return may_call ? core.options().function_calls : CallPolicy::kInline;
}

absl::StatusOr<StepGraph> MakeStepGraph(const SessionGraph& graph, const FeedFetchSpec& spec, const SessionCore& core,
                                        FeedFetchOptions::Convention convention, CallPolicy policy, StopPoll* stop) {
  FeedFetchOptions options;
  options.limits = core.options().limits;
  options.convention = convention;
  options.stop = stop;
  const DeviceEntry& client = core.device_list().client();
  if (core.num_devices() > 1 || convention == FeedFetchOptions::Convention::kRendezvous) {
    options.client_device = client.name;
    options.client_incarnation = client.incarnation;
  }
  StepGraph step;
  SLUICE_ASSIGN_OR_RETURN(SessionGraph::Part part,
                          graph.CutPart(spec, options, core.kernel_store(), /*with_homes=*/core.num_devices() > 1));
  step.signature = std::move(part.needed);
  step.call_store = std::make_unique<CallStore>(std::make_shared<const PlanScope>(&core.kernel_store()));
  step.call_store->of_session = part.kernel_generation;
  Graph& needed = step.signature.graph;
  if (part.homes != nullptr) part.homes->Settle(client, core.kernels(), &needed);
  SLUICE_RETURN_IF_ERROR(PollStop(stop, needed.id_limit()));
  SLUICE_ASSIGN_OR_RETURN(const bool could_call, ReplaceCalls(core, policy, part.version, stop, &step));
  if (!could_call) return MakeStepGraph(graph, spec, core, convention, CallPolicy::kInline, stop);
  if (KernelFunctions::AreCalledIn(needed)) {
    LocalExecutorParams params = core.ExecutorParams(core.device(0), *step.edges, stop);
    params.call_store = step.call_store.get();
    step.functions = std::make_unique<KernelFunctions>(needed, params);
  }
  SLUICE_RETURN_IF_ERROR(PollStop(stop, needed.id_limit()));
  SLUICE_RETURN_IF_ERROR(CheckRunnable(needed));
  SLUICE_RETURN_IF_ERROR(PollStop(stop, needed.id_limit()));
  const bool is_placed = core.num_devices() > 1 || AsksForDevices(needed);
  if (is_placed) {
    PlacementOptions placement;
    placement.allow_soft = core.options().allow_soft_placement;
    placement.allow_other_task = core.options().allow_other_task;
    placement.default_device = client.name;
    placement.stop = stop;
    const WithCalls kernels(core.kernels());
    const absl::Status placed = PlaceGraph(needed, core.device_list(), kernels, placement);
    if (!placed.ok()) return WithAllMissingKernels(placed, needed, core, stop);
  }
  // Partial runs check the feeds that each fetch needs, so their graph must stay as the user knows it.
  if (convention == FeedFetchOptions::Convention::kFunction) {
    SLUICE_RETURN_IF_ERROR(SimplifyStep(core, stop, &step.signature).status());
  }
  if (is_placed) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<Device*> devices, DevicesOf(needed, core));
    const auto is_elsewhere = [&](const Device* device) { return device != nullptr && device != &core.device(0); };
    if (std::none_of(devices.begin(), devices.end(), is_elsewhere)) return step;
    step.is_cut = convention == FeedFetchOptions::Convention::kRendezvous || MustCut(needed, devices, core);
    if (step.is_cut) return step;
    if (HasStreams(devices)) {
      SLUICE_RETURN_IF_ERROR(InsertCopies(needed, core.kernels()));
      SLUICE_ASSIGN_OR_RETURN(devices, DevicesOf(needed, core));
    }
    step.node_devices = std::move(devices);
  }
  return step;
}

absl::Status WithAllMissingKernels(const absl::Status& status, const Graph& graph, const SessionCore& core,
                                   StopPoll* stop) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value() || info->code != ErrorCode::kNoKernel) return status;
  ErrorCollector errors;
  for (const NodeId id : graph.Nodes()) {
    if (!PollStop(stop).ok()) break;
    bool has_kernel = IsCall(graph, id);
    for (size_t i = 0; i < core.num_devices() && !has_kernel; ++i) {
      has_kernel = core.kernels().HasKernel(graph, id, DeviceTypeName(core.device(i).kind()));
    }
    if (has_kernel) continue;
    errors.Add(MissingKernel(core.kernels(), GraphNode(graph, id), DeviceTypeName(core.device(0).kind())));
  }
  return errors.empty() ? status : errors.Finish();
}

}  // namespace sluice
