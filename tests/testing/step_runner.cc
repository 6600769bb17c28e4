#include "tests/testing/step_runner.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/ir/graph_node.h"
#include "graph/ops/op_table.h"
#include "kernels/control/families.h"
#include "kernels/device/cpu_device.h"
#include "kernels/state/families.h"
#include "kernels/step/step_container.h"
#include "kernels/transfer/families.h"
#include "rendezvous/rendezvous.h"

namespace sluice {
namespace {

std::set<NodeId> Ancestors(const Graph& graph, const std::vector<Output>& fetches, const std::set<NodeId>& fed) {
  std::set<NodeId> seen;
  std::vector<NodeId> open;
  for (const Output& fetch : fetches) open.push_back(fetch.node);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (fed.count(id) > 0 || !seen.insert(id).second) continue;
    for (const Output& input : graph.all_inputs(id)) open.push_back(input.node);
  }
  return seen;
}

absl::Status ComputeNow(const Kernel& kernel, KernelContext& context) {
  const AsyncKernel* const async = kernel.AsAsync();
  if (async == nullptr) return kernel.Compute(context);
  absl::Status status;
  Notification done;
  async->ComputeAsync(context, [&](absl::Status result) {
    status = std::move(result);
    done.Notify();
  });
  done.WaitForNotification();
  return status;
}

}  // namespace

// The outputs of one step.
struct StepRunner::Step {
  explicit Step(StepId id) : container(id) {}

  StepContainer container;  // Ends after what refers to its variables.
  std::map<NodeId, std::unique_ptr<Entry[]>> outputs;
};

StepRunner::StepRunner()
    : builder_(NewOpRegistry()), device_(std::make_shared<CpuDevice>(absl::StrCat(kLocalTask, "/device:CPU:0"), 1)) {
  registry_.AddTable(BasicKernels());
  AddStateKernels(registry_);
  registry_.AddTable(SendRecvKernels());
}

StepRunner::~StepRunner() = default;

absl::StatusOr<const Kernel*> StepRunner::KernelOf(NodeId id) {
  std::unique_ptr<Kernel>& kernel = kernels_[id];
  if (kernel == nullptr) {
    EdgeTable* const edges = run_.rendezvous != nullptr ? run_.rendezvous->edges() : nullptr;
    const GraphNode node(builder_.graph(), id);
    const KernelConstruction construction(node, device_.get(), edges);
    SLUICE_ASSIGN_OR_RETURN(kernel, registry_.Create(construction, DeviceKind::kCpu));
  }
  return kernel.get();
}

absl::Status StepRunner::RunNode(NodeId id, Step& step) {
  const Graph& graph = builder_.graph();
  if (NeedsNoKernel(graph.op(id).op_class)) return absl::OkStatus();
  const Signature& signature = graph.signature(id);
  const uint32_t num_inputs = static_cast<uint32_t>(signature.inputs.size());
  const auto inputs = std::make_unique<Entry[]>(num_inputs + 1);
  std::vector<Operand> operands;
  bool any_dead = false;
  for (uint32_t i = 0; i < num_inputs; ++i) {
    const Output source = graph.inputs(id)[i];
    const Entry& from = step.outputs[source.node][static_cast<size_t>(source.index)];
    any_dead = any_dead || from.is_dead();
    if (from.is_ref() && !IsRef(signature.inputs[i])) {
      inputs[i].SetValue(from.ref()->Read());
      if (!inputs[i].value().has_value()) {
        return Error(ErrorCode::kUninitialized).Node(graph.name(source.node), graph.op_name(source.node));
      }
    } else {
      inputs[i].CopyFrom(from);
    }
    operands.emplace_back(Operand::Table::kSlots, i, /*is_last_use=*/true);
  }
  auto& outputs = step.outputs[id];
  outputs = std::make_unique<Entry[]>(signature.outputs.size() + 1);
  for (uint32_t i = 0; i < signature.outputs.size(); ++i) operands.emplace_back(Operand::Table::kScratch, i);
  NodeIo io;
  io.operands = operands.data();
  io.input_types = signature.inputs.data();
  io.output_types = signature.outputs.data();
  io.num_inputs = num_inputs;
  io.num_outputs = static_cast<uint32_t>(signature.outputs.size());
  io.id = id.value();
  SLUICE_ASSIGN_OR_RETURN(const Kernel* const kernel, KernelOf(id));
  RunContext run = run_;
  if (run.device == nullptr) run.device = device_.get();
  if (run.resources == nullptr) run.resources = &device_->resources();
  if (run.step_container == nullptr) run.step_container = &step.container;
  EntryTables tables;
  tables.table[static_cast<int>(Operand::Table::kSlots)] = inputs.get();
  tables.table[static_cast<int>(Operand::Table::kScratch)] = outputs.get();
  KernelContext context(run, tables);
  context.SetNode(io);
  context.SetInputDead(any_dead);
  return WithNode(ComputeNow(*kernel, context), graph.name(id), graph.op_name(id));
}

absl::StatusOr<Tensor> StepRunner::Fetch(Output output, Step& step) {
  const Entry& entry = step.outputs[output.node][static_cast<size_t>(output.index)];
  if (entry.is_dead()) return Error(ErrorCode::kOutputMissing).Text(builder_.graph().OutputName(output));
  if (!entry.is_ref()) return entry.value();
  const Tensor value = entry.ref()->Read();
  if (!value.has_value()) return Error(ErrorCode::kUninitialized).Node(builder_.graph().name(output.node), "");
  return value;
}

absl::StatusOr<std::vector<Tensor>> StepRunner::Run(const std::vector<Output>& fetches, const Feeds& feeds) {
  SLUICE_RETURN_IF_ERROR(builder_.status());
  last_ = std::make_unique<Step>(StepId(++steps_));
  std::set<NodeId> fed;
  for (const auto& [output, value] : feeds) {
    fed.insert(output.node);
    last_->outputs[output.node] = std::make_unique<Entry[]>(1);
    last_->outputs[output.node][0].SetValue(value);
  }
  for (const NodeId id : Ancestors(builder_.graph(), fetches, fed)) {
    SLUICE_RETURN_IF_ERROR(RunNode(id, *last_));
  }
  std::vector<Tensor> values;
  for (const Output& fetch : fetches) {
    if (fetch.is_control()) continue;
    SLUICE_ASSIGN_OR_RETURN(Tensor value, Fetch(fetch, *last_));
    values.push_back(std::move(value));
  }
  return values;
}

absl::StatusOr<Tensor> StepRunner::Run1(Output fetch, const Feeds& feeds) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> values, Run({fetch}, feeds));
  return std::move(values[0]);
}

bool StepRunner::WasDead(Output output) const {
  return last_->outputs[output.node][static_cast<size_t>(output.index)].is_dead();
}

}  // namespace sluice
