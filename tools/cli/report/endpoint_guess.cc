#include "tools/cli/report/endpoint_guess.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "graph/ir/consumers.h"

namespace sluice {
namespace {

bool IsPlaceholder(absl::string_view op) {
  return op == "Placeholder" || op == "PlaceholderV2" || op == "PlaceholderWithDefault" || op == "_Arg";
}

// Ops that are run for what they do, or whose result is of use to other nodes only.
bool IsForEffect(absl::string_view op) {
  constexpr absl::string_view kWords[] = {"Assign",   "Summary",   "Save",      "Restore", "Initializer", "Initialize",
                                          "Assert",   "Print",     "Queue",     "Table",   "Iterator",    "Dataset",
                                          "Variable", "VarHandle", "VarIsInit", "Apply",   "ScatterNdU",  "Stack",
                                          "Barrier",  "Writer",    "MakeUnique"};
  constexpr absl::string_view kNames[] = {
      "NoOp",      "Const",         "LoopCond",       "ControlTrigger",     "WriteFile",      "Switch",
      "RefSwitch", "NextIteration", "ReadVariableOp", "MergeV2Checkpoints", "ShardedFilename"};
  // Reading a table or a dequeued element is a result.
  if (absl::StrContains(op, "TableFind") || absl::StrContains(op, "Dequeue") || absl::StrContains(op, "TableSize")) {
    return false;
  }
  const auto is_in = [op](absl::string_view word) { return absl::StrContains(op, word); };
  return std::any_of(std::begin(kWords), std::end(kWords), is_in) ||
         std::find(std::begin(kNames), std::end(kNames), op) != std::end(kNames);
}

}  // namespace

bool IsIteratorOp(absl::string_view op) {
  return op == "IteratorGetNext" || op == "IteratorGetNextSync" || op == "IteratorGetNextAsOptional" ||
         op == "OptionalGetValue" || op == "MultiDeviceIteratorGetNextFromShard";
}

std::vector<Output> GuessInputs(const Graph& graph) {
  std::vector<Output> inputs;
  for (const NodeId id : graph.Nodes()) {
    const absl::string_view op = graph.op_name(id);
    if (!IsPlaceholder(op) && !IsIteratorOp(op)) continue;
    for (int32_t i = 0; i < graph.num_outputs(id); ++i) inputs.push_back({id, i});
  }
  return inputs;
}

std::vector<Output> GuessOutputs(const Graph& graph) {
  const Consumers consumers(graph);
  std::vector<Output> outputs;
  for (const NodeId id : graph.Nodes()) {
    const absl::string_view op = graph.op_name(id);
    // A node that only others' control edges use is there for its effect as well; a leaf has no uses at all.
    if (graph.num_outputs(id) == 0 || !consumers.of(id).empty() || graph.inputs(id).empty()) continue;
    if (IsForEffect(op) || IsPlaceholder(op)) continue;
    for (int32_t i = 0; i < graph.num_outputs(id); ++i) {
      if (BaseType(graph.output_type(id, i)) != DType::kResource) outputs.push_back({id, i});
    }
  }
  // What a person named stands further out than what a library left over.
  std::stable_sort(outputs.begin(), outputs.end(), [&graph](const Output& a, const Output& b) {
    const absl::string_view in_a = graph.name(a.node), in_b = graph.name(b.node);
    return std::count(in_a.begin(), in_a.end(), '/') < std::count(in_b.begin(), in_b.end(), '/');
  });
  return outputs;
}

std::vector<NodeId> GuessTargets(const Graph& graph) {
  const Consumers consumers(graph);
  std::vector<NodeId> targets;
  for (const NodeId id : graph.Nodes()) {
    const bool is_assert = graph.Is(id, "Assert");
    if (is_assert || graph.num_outputs(id) > 0 || graph.all_inputs(id).empty() || !consumers.of(id).empty()) continue;
    targets.push_back(id);
  }
  return targets;
}

}  // namespace sluice
