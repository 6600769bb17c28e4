#include "executor/session/step_simplifier.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "executor/plan/node_error.h"
#include "executor/threads/flush_denormals.h"
#include "graph/base/status_macros.h"
#include "graph/ir/graph_node.h"
#include "graph/passes/pass_context.h"
#include "graph/value/entry.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel.h"
#include "kernels/kernel_context.h"
#include "kernels/kernel_registry.h"

namespace sluice {
namespace {

// Bounds the bytes of kernels that are slow for their inputs (matrix products): some milliseconds, at worst a second.
constexpr int64_t kMaxHeavyBytes = 256 << 10;
// Kernels may use memory beside their outputs.
constexpr int64_t kMemoryPerOutput = 4;
constexpr int64_t kMaxMemory = std::numeric_limits<int64_t>::max();

absl::Status NotAhead() { return absl::UnimplementedError("is not computed ahead"); }

int64_t BytesOf(absl::Span<const Tensor> tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += static_cast<int64_t>(tensor.total_bytes());
  return bytes;
}

// Our allocators do not bound the memory of strings.
bool HasStrings(const Signature& signature) {
  const auto is_string = [](DType type) { return type == DType::kString; };
  return std::any_of(signature.inputs.begin(), signature.inputs.end(), is_string) ||
         std::any_of(signature.outputs.begin(), signature.outputs.end(), is_string);
}

// Calls `kernel`, that of node `id`, once.
absl::StatusOr<std::vector<Tensor>> Call(const Kernel& kernel, const Graph& graph, NodeId id,
                                         absl::Span<const Tensor> inputs, const RunContext& run) {
  const Signature& signature = graph.signature(id);
  const uint32_t num_inputs = static_cast<uint32_t>(inputs.size());
  const uint32_t num_outputs = static_cast<uint32_t>(signature.outputs.size());
  const auto slots = std::make_unique<Entry[]>(num_inputs + num_outputs);
  absl::InlinedVector<Operand, 8> operands;
  for (uint32_t i = 0; i < num_inputs + num_outputs; ++i) {
    if (i < num_inputs) slots[i].SetValue(inputs[i]);
    operands.emplace_back(Operand::Table::kSlots, i);
  }
  NodeIo io;
  io.operands = operands.data();
  io.input_types = signature.inputs.data();
  io.output_types = signature.outputs.data();
  io.num_inputs = num_inputs;
  io.num_outputs = num_outputs;
  io.id = id.value();
  EntryTables tables;
  tables.table[static_cast<size_t>(Operand::Table::kSlots)] = slots.get();
  KernelContext context(run, tables);
  context.SetNode(io);
  const FlushDenormals flush;
  SLUICE_RETURN_IF_ERROR(kernel.Compute(context));
  std::vector<Tensor> outputs;
  for (uint32_t i = 0; i < num_outputs; ++i) {
    Entry& output = slots[num_inputs + i];
    if (!output.has_value()) return NotAhead();
    outputs.push_back(std::move(output.value()));
  }
  return outputs;
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> KernelEvaluator::Evaluate(const Graph& graph, NodeId id,
                                                              absl::Span<const Tensor> inputs) const {
  Device* device = &core_.device(0);
  if (!graph.device(id).empty()) {
    SLUICE_ASSIGN_OR_RETURN(device, core_.FindDevice(graph.device(id)));
  }
  if (device->kind() != DeviceKind::kCpu || device->context() || HasStrings(graph.signature(id))) return NotAhead();
  const GraphNode node(graph, id);
  const KernelChoice choice = core_.kernels().Choose(node, device->kind());
  if (choice.row == nullptr || choice.is_of_host) return NotAhead();
  try {
    const KernelConstruction construction(node, device);
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                            core_.kernels().Create(construction, device->kind(), choice));
    if (kernel->AsAsync() != nullptr) return NotAhead();
    if (kernel->cost_hint() == CostHint::kHeavy && BytesOf(inputs) > kMaxHeavyBytes) return NotAhead();
    RunContext run;
    run.device = device;
    run.allocator = &allocator_;
    run.gemm_plugin = core_.options().gemm_plugin;
    run.deterministic = core_.options().deterministic;
    return Call(*kernel, graph, id, inputs, run);
  } catch (...) {
    return StatusOfException();
  }
}

absl::StatusOr<SimplifyReport> SimplifyStep(const SessionCore& core, StopPoll* stop, FeedFetchGraph* signature) {
  const SimplifyOptions& options = core.options().simplify;
  if (!options.drop_unread_values && !options.fold_constants && !options.join_equal_nodes && !options.fuse_layers) {
    return SimplifyReport();
  }
  std::vector<NodeId> keep = signature->targets;
  for (const auto* ports : {&signature->feeds, &signature->fetches}) {
    for (const FeedFetchGraph::Port& port : *ports) keep.push_back(port.node);
  }
  const int64_t max_bytes = std::min(options.folding.max_output_bytes, kMaxMemory / kMemoryPerOutput);
  const KernelEvaluator evaluator(core, max_bytes * kMemoryPerOutput);
  PassContext context(std::move(keep));
  context.evaluator = &evaluator;
  context.catalog = &core.kernels();
  context.stop = stop;
  context.validates = options.validates;
  context.inference.use_hints = false;  // A wrong hint is not an error.
  for (const FeedFetchGraph::Port& feed : signature->feeds) {
    if (signature->graph.Contains(feed.node)) context.inference.fed.emplace_back(Output{feed.node, 0}, feed.shape);
  }
  if (&core.kernels() != &BuiltinKernels()) {
    // Leaves alone all nodes of an op with a row of the host: which row a node uses may depend on its label, device and
    // attrs.
    context.leaves_alone = [&core](const Graph& graph, NodeId id) {
      return !core.kernels().HostRowsOf(graph.op_name(id)).empty();
    };
  }
  return SimplifyGraph(signature->graph, context, options);
}

}  // namespace sluice
