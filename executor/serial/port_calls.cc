#include "executor/serial/port_calls.h"

#include <cstdint>
#include <utility>

#include "executor/kernel_call.h"
#include "executor/plan/node_error.h"
#include "graph/base/status_macros.h"
#include "kernels/kernel_context.h"

namespace sluice {

PortCalls::PortCalls(const SerialProgram& program, const KernelSet& kernels) : program_(program), kernels_(kernels) {
  for (size_t i = 0; i < program.arguments().size(); ++i) {
    const NodeId node = program.argument_nodes()[i];
    if (!node.valid()) continue;
    arguments_.push_back({node, program.arguments()[i], i, program.graph().output_type(node, 0)});
  }
}

absl::Status PortCalls::Take(const RunContext& run, SpanCallFrame* spans, Entry* registers, Entry* kept) const {
  for (const Argument& argument : arguments_) {
    const bool is_kept = argument.place < 0;
    Entry* const table = is_kept ? kept : registers;
    const uint32_t place = static_cast<uint32_t>(is_kept ? -2 - argument.place : argument.place);
    if (spans != nullptr && argument.index < spans->args().size() &&
        spans->args()[argument.index].dtype() == argument.dtype) {
      table[place].SetValue(std::move(spans->args()[argument.index]));
    } else {
      SLUICE_RETURN_IF_ERROR(Call(argument.node, run, table, place));
    }
  }
  return absl::OkStatus();
}

absl::Status PortCalls::Give(const RunContext& run, absl::Span<Tensor> results) const {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].has_value()) continue;
    Entry value;
    value.SetValue(std::move(results[i]));
    SLUICE_RETURN_IF_ERROR(Call(program_.results()[i], run, &value, 0));
  }
  return absl::OkStatus();
}

absl::Status PortCalls::Call(NodeId node, const RunContext& run, Entry* entries, uint32_t place) const {
  const Graph& graph = program_.graph();
  const Signature& signature = graph.signature(node);
  const Operand operand(Operand::Table::kSlots, place, /*is_last_use=*/true);
  NodeIo io;
  io.operands = &operand;
  io.input_types = signature.inputs.data();
  io.output_types = signature.outputs.data();
  io.num_inputs = static_cast<uint32_t>(signature.inputs.size());
  io.num_outputs = static_cast<uint32_t>(signature.outputs.size());
  io.id = node.value();
  EntryTables tables;
  tables.table[static_cast<size_t>(Operand::Table::kSlots)] = entries;
  KernelContext context(run, tables);
  PrepareCall(context, io);
  try {
    const KernelCall call{graph, node, /*observer=*/nullptr};
    SLUICE_RETURN_IF_ERROR(call.Compute(*kernels_.kernel(node), context));
    const auto check = [&](uint32_t i, const Entry& output) {
      return AtNode(graph, node, CheckOutput(i, output, io.output_types[i], /*is_read=*/true));
    };
    return CheckOutputs(tables, io, check);
  } catch (...) {
    return StatusOfException(graph, node);
  }
}

}  // namespace sluice
