#include "graph/gradients/function_calls.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "graph/functions/inliner.h"
#include "graph/gradients/gradient.h"
#include "graph/gradients/gradient_table.h"
#include "graph/ir/made_nodes.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

bool IsCall(const Graph& graph, NodeId id) {
  const OpSchema& op = graph.op(id);
  return (IsFunctionCaller(op.op_class) && !graph.Is(id, "SymbolicGradient")) || graph.library().Contains(op.name);
}

// The name of the While that the node was lowered from; empty for others.
std::string NameOfWhile(const Graph& graph, NodeId id) {
  const MadeFor made_for = MadeForOf(graph, id);
  return OpClassOf(made_for.op) == OpClass::kWhile ? made_for.name : "";
}

}  // namespace

bool FlowsThroughCalls(const Graph& graph, const GradientRegion& region) {
  return std::any_of(region.nodes().begin(), region.nodes().end(),
                     [&](NodeId id) { return region.IsReached(id) && IsCall(graph, id); });
}

LoweredLoops::LoweredLoops(const Graph& graph, const GradientRegion& region) {
  std::vector<bool> is_walked(static_cast<size_t>(graph.id_limit()), false);
  std::vector<NodeId> queue;
  // Takes what the node is computed from.
  const auto take_inputs = [&](NodeId id) {
    if (is_walked[static_cast<size_t>(id.value())]) return;
    is_walked[static_cast<size_t>(id.value())] = true;
    for (const Output& input : graph.inputs(id)) {
      taken_.insert(input);
      if (IsDifferentiable(graph.output_type(input.node, input.index))) queue.push_back(input.node);
    }
  };
  HashSet<std::string> read;
  for (const NodeId id : region.nodes()) {
    // Only values that stacks hold may be read of a loop: of such a one no Exit is there.
    const OpClass op_class = graph.op(id).op_class;
    if (op_class == OpClass::kExit || op_class == OpClass::kEnter) read.insert(NameOfWhile(graph, id));
  }
  read.erase("");
  for (int32_t i = 0; i < graph.id_limit() && !read.empty(); ++i) {
    const NodeId id(i);
    if (!graph.Contains(id) || graph.op(id).op_class != OpClass::kEnter) continue;
    if (read.contains(NameOfWhile(graph, id))) take_inputs(id);
  }
  while (!queue.empty()) {
    const NodeId id = queue.back();
    queue.pop_back();
    const GradientRow* const row = FindGradientRow(graph.op_name(id));
    if (row == nullptr || (row->kind != kNoGradient && row->kind != kRefusedGradient)) take_inputs(id);
  }
}

absl::StatusOr<GraphOfBodies> GraphOfBodies::Make(const Graph& graph) {
  GraphOfBodies bodies{Graph(graph)};
  InlineOptions options;
  options.lower_unmarked = true;
  options.ignore_marks = true;
  options.keep_all = true;
  SLUICE_RETURN_IF_ERROR(InlineFunctionCalls(bodies.graph_, options).status());
  return bodies;
}

std::vector<Output> GraphOfBodies::Find(const Graph& before, absl::Span<const Output> outputs) const {
  std::vector<Output> found;
  for (const Output& output : outputs) {
    if (!output.is_set() || graph_.Contains(output.node)) {
      found.push_back(output);
      continue;
    }
    // Of the node that has the call's name now: what it hands on is what others read.
    const NodeId kept = graph_.Find(before.name(output.node));
    found.push_back(graph_.inputs(kept)[static_cast<size_t>(output.index)]);
  }
  return found;
}

}  // namespace sluice
