#include "tests/testing/kernel_runner.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"

namespace sluice {

std::shared_ptr<Device> KernelRunner::MakeDevice() {
  return std::make_shared<CpuDevice>(absl::StrCat(kLocalTask, "/device:CPU:0"), 1);
}

absl::StatusOr<std::vector<Tensor>> KernelRunner::Run(std::vector<Tensor> inputs, bool movable) {
  GraphBuilder b(NewOpRegistry());
  std::vector<Output> sources;
  for (size_t i = 0; i < inputs.size(); ++i) {
    sources.push_back(b.Placeholder(absl::StrCat("input", i), inputs[i].dtype()));
  }
  const NodeId node = b.Op(op_, "op", sources, attrs_).node;
  SLUICE_ASSIGN_OR_RETURN(const Graph graph, b.Build());
  const KernelConstruction construction(graph, node, device_.get(), nullptr);
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                          BuiltinKernels().Create(construction, DeviceKind::kCpu));

  const Signature& signature = graph.signature(node);
  const uint32_t num_inputs = static_cast<uint32_t>(inputs.size());
  const uint32_t num_outputs = static_cast<uint32_t>(signature.outputs.size());
  const auto slots = std::make_unique<Entry[]>(num_inputs + num_outputs + 1);
  std::vector<Operand> operands;
  for (uint32_t i = 0; i < num_inputs; ++i) {
    slots[i].SetValue(movable ? std::move(inputs[i]) : inputs[i]);
    operands.emplace_back(Operand::Table::kSlots, i, movable);
  }
  for (uint32_t i = 0; i < num_outputs; ++i) operands.emplace_back(Operand::Table::kSlots, num_inputs + i);
  NodeIo io;
  io.operands = operands.data();
  io.input_types = signature.inputs.data();
  io.output_types = signature.outputs.data();
  io.num_inputs = num_inputs;
  io.num_outputs = num_outputs;
  io.id = node.value();

  RunContext run = run_;
  if (run.device == nullptr) run.device = device_.get();
  if (run.resources == nullptr) run.resources = &device_->resources();
  EntryTables tables;
  tables.table[0] = slots.get();
  KernelContext context(run, tables);
  context.SetNode(io);
  absl::Status status;
  if (const AsyncKernel* async = kernel->AsAsync()) {
    Notification done;
    async->ComputeAsync(context, [&](absl::Status result) {
      status = std::move(result);
      done.Notify();
    });
    done.WaitForNotification();
  } else {
    status = kernel->Compute(context);
  }
  if (!status.ok()) return WithNode(status, "op", op_);
  std::vector<Tensor> outputs;
  for (uint32_t i = 0; i < num_outputs; ++i) {
    Entry& entry = slots[num_inputs + i];
    if (entry.is_dead()) return Error(ErrorCode::kOutputMissing).Text(absl::StrCat("output ", i, " was not set"));
    outputs.push_back(entry.is_ref() ? entry.ref()->Read() : entry.value());
    if (outputs.back().dtype() != BaseType(signature.outputs[i])) {
      return Error(ErrorCode::kOutputType).Found(DTypeName(outputs.back().dtype()));
    }
  }
  return outputs;
}

absl::StatusOr<Tensor> KernelRunner::Run1(std::vector<Tensor> inputs, bool movable) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, Run(std::move(inputs), movable));
  if (outputs.size() != 1) return Error(ErrorCode::kInternal).Text(absl::StrCat(outputs.size(), " outputs"));
  return std::move(outputs[0]);
}

}  // namespace sluice
