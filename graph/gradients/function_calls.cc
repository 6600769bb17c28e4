#include "graph/gradients/function_calls.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/functions/inliner.h"
#include "graph/gradients/gradient.h"
#include "graph/gradients/gradient_table.h"
#include "graph/gradients/own_gradients.h"
#include "graph/gradients/symbolic_gradients.h"
#include "graph/ir/made_nodes.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

bool IsCall(const Graph& graph, NodeId id) {
  const OpSchema& op = graph.op(id);
  return IsFunctionCaller(op.op_class) || graph.library().Contains(op.name);
}

// The name of the While that the node was lowered from; empty for others.
std::string NameOfWhile(const Graph& graph, NodeId id) {
  const MadeFor made_for = MadeForOf(graph, id);
  return OpClassOf(made_for.op) == OpClass::kWhile ? made_for.name : "";
}

}  // namespace

bool FlowsThroughCalls(const Graph& graph, const GradientRegion& region, OwnGradients& own) {
  return std::any_of(region.nodes().begin(), region.nodes().end(),
                     [&](NodeId id) { return region.IsReached(id) && IsCall(graph, id) && !own.Has(id); });
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

absl::StatusOr<GraphOfBodies> GraphOfBodies::Make(const Graph& graph, const GradientRegion& region,
                                                  const GradientOptions& options) {
  GraphOfBodies bodies{Graph(graph)};
  const int32_t limit = graph.id_limit();
  const auto is_on_the_way = [&](NodeId id) { return id.value() >= limit || region.IsReached(id); };
  SLUICE_RETURN_IF_ERROR(ExpandSymbolicGradients(bodies.graph_, is_on_the_way).status());
  OwnGradients own(bodies.graph_, options);
  const absl::AnyInvocable<bool(NodeId) const> leave = [&](NodeId id) { return !is_on_the_way(id) || own.Has(id); };
  InlineOptions inlining;
  inlining.limits = options.limits;
  inlining.stop = options.stop_poll;
  inlining.lower_unmarked = true;
  inlining.ignore_marks = true;
  inlining.keep_all = true;
  inlining.prune = !own.TakeValuesOfBodies();
  inlining.leave = &leave;
  for (int depth = 0; depth <= inlining.limits.max_call_depth; ++depth) {
    SLUICE_RETURN_IF_ERROR(InlineFunctionCalls(bodies.graph_, inlining).status());
    // Those that came out of bodies; nobody knows their names.
    inlining.keep_all = false;
    SLUICE_ASSIGN_OR_RETURN(const int64_t more, ExpandSymbolicGradients(bodies.graph_, is_on_the_way));
    if (more == 0) return bodies;
  }
  return Error(ErrorCode::kLimitCallDepth)
      .Limit("max_call_depth", inlining.limits.max_call_depth)
      .Text("symbolic gradients are nested in too many functions");
}

std::vector<Output> GraphOfBodies::Find(const Graph& before, absl::Span<const Output> outputs) const {
  std::vector<Output> found;
  for (const Output& output : outputs) {
    if (!output.is_set() || graph_.Contains(output.node)) {
      found.push_back(output);
      continue;
    }
    // The node now named like the call: follow its IdentityN; otherwise it is the call.
    const NodeId kept = graph_.Find(before.name(output.node));
    const bool hands_on = graph_.Is(kept, "IdentityN");
    found.push_back(hands_on ? graph_.inputs(kept)[static_cast<size_t>(output.index)] : Output{kept, output.index});
  }
  return found;
}

}  // namespace sluice
