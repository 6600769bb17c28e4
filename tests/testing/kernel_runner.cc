#include "tests/testing/kernel_runner.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph_node.h"
#include "graph/ops/op_table.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "kernels/step/session_state.h"

namespace sluice {

std::shared_ptr<Device> KernelRunner::MakeDevice() {
  return std::make_shared<CpuDevice>(absl::StrCat(kLocalTask, "/device:CPU:0"), 1);
}

absl::StatusOr<std::unique_ptr<PreparedKernel>> PreparedKernel::Make(const std::string& op, const Attrs& attrs,
                                                                     absl::Span<const DType> inputs, Device* device) {
  GraphBuilder b(NewOpRegistry());
  std::vector<Output> sources;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = absl::StrCat("input", i);
    const DType dtype = BaseType(inputs[i]);
    sources.push_back(IsRef(inputs[i]) ? b.Op("VariableV2", name, {}, {{"dtype", dtype}, {"shape", PartialShape()}})
                                       : b.Placeholder(name, dtype));
  }
  const NodeId node = b.Op(op, "op", sources, attrs).node;
  SLUICE_ASSIGN_OR_RETURN(Graph graph, b.Build());
  std::unique_ptr<PreparedKernel> prepared(new PreparedKernel(std::move(graph), node));
  const GraphNode of_graph(prepared->graph_, node);
  const KernelConstruction construction(of_graph, device);
  SLUICE_ASSIGN_OR_RETURN(prepared->kernel_, BuiltinKernels().Create(construction, DeviceKind::kCpu));
  return prepared;
}

absl::StatusOr<std::vector<Tensor>> PreparedKernel::Run(const RunContext& run, std::vector<KernelInput> inputs,
                                                        bool movable) const {
  const Signature& signature = graph_.signature(node_);
  const uint32_t num_inputs = static_cast<uint32_t>(inputs.size());
  const uint32_t num_outputs = static_cast<uint32_t>(signature.outputs.size());
  const auto slots = std::make_unique<Entry[]>(num_inputs + num_outputs + 1);
  std::vector<Operand> operands;
  for (uint32_t i = 0; i < num_inputs; ++i) {
    if (inputs[i].ref != nullptr) {
      slots[i].SetRef(inputs[i].ref);
    } else {
      slots[i].SetValue(movable ? std::move(inputs[i].value) : inputs[i].value);
    }
    operands.emplace_back(Operand::Table::kSlots, i, movable);
  }
  for (uint32_t i = 0; i < num_outputs; ++i) operands.emplace_back(Operand::Table::kSlots, num_inputs + i);
  NodeIo io;
  io.operands = operands.data();
  io.input_types = signature.inputs.data();
  io.output_types = signature.outputs.data();
  io.num_inputs = num_inputs;
  io.num_outputs = num_outputs;
  io.id = node_.value();

  EntryTables tables;
  tables.table[0] = slots.get();
  KernelContext context(run, tables);
  context.SetNode(io);
  absl::Status status;
  if (const AsyncKernel* async = kernel_->AsAsync()) {
    Notification done;
    async->ComputeAsync(context, [&](absl::Status result) {
      status = std::move(result);
      done.Notify();
    });
    done.WaitForNotification();
  } else {
    status = kernel_->Compute(context);
  }
  if (!status.ok()) return WithNode(status, "op", graph_.op_name(node_));
  std::vector<Tensor> outputs;
  for (uint32_t i = 0; i < num_outputs; ++i) {
    Entry& entry = slots[num_inputs + i];
    if (entry.is_dead()) return Error(ErrorCode::kOutputMissing).Text(absl::StrCat("output ", i, " was not set"));
    outputs.push_back(entry.is_ref() ? entry.ref()->Read() : entry.value());
    const DType found = entry.is_ref() ? entry.ref()->dtype() : outputs.back().dtype();  // A variable may lack a value.
    if (found != BaseType(signature.outputs[i])) {
      return Error(ErrorCode::kOutputType).Found(DTypeName(found));
    }
  }
  return outputs;
}

absl::StatusOr<std::vector<Tensor>> KernelRunner::Run(std::vector<Tensor> inputs, bool movable) {
  std::vector<DType> types;
  std::vector<KernelInput> values;
  for (Tensor& input : inputs) {
    types.push_back(input.dtype());
    values.emplace_back(std::move(input));
  }
  inputs.clear();
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<PreparedKernel> kernel,
                          PreparedKernel::Make(op_, attrs_, types, device_.get()));
  RunContext run = run_;
  SessionState with_files(FileAccess::All());  // Tests of one kernel are about what it does there.
  if (run.session_state == nullptr) run.session_state = &with_files;
  if (run.device == nullptr) run.device = device_.get();
  if (run.resources == nullptr) run.resources = &device_->resources();
  return kernel->Run(run, std::move(values), movable);
}

absl::StatusOr<Tensor> KernelRunner::Run1(std::vector<Tensor> inputs, bool movable) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, Run(std::move(inputs), movable));
  if (outputs.size() != 1) return Error(ErrorCode::kInternal).Text(absl::StrCat(outputs.size(), " outputs"));
  return std::move(outputs[0]);
}

}  // namespace sluice
