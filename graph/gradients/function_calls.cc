#include "graph/gradients/function_calls.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/functions/inliner.h"
#include "graph/gradients/own_gradients.h"
#include "graph/gradients/symbolic_gradients.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

bool IsCall(const Graph& graph, NodeId id) {
  const OpSchema& op = graph.op(id);
  return IsFunctionCaller(op.op_class) || graph.library().Contains(op.name);
}

}  // namespace

bool FlowsThroughCalls(const Graph& graph, const GradientRegion& region, OwnGradients& own) {
  return std::any_of(region.nodes().begin(), region.nodes().end(),
                     [&](NodeId id) { return region.IsReached(id) && IsCall(graph, id) && !own.Has(id); });
}

absl::StatusOr<GraphOfBodies> GraphOfBodies::Make(const Graph& graph, const GradientRegion& region,
                                                  const GradientOptions& options) {
  GraphOfBodies bodies{Graph(graph)};
  const int32_t limit = graph.id_limit();
  const auto is_on_the_way = [&](NodeId id) { return id.value() >= limit || region.IsReached(id); };
  SLUICE_RETURN_IF_ERROR(ExpandSymbolicGradients(bodies.graph_, is_on_the_way, options.limits).status());
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
    // These came out of bodies, so that no user refers to their names.
    inlining.keep_all = false;
    SLUICE_ASSIGN_OR_RETURN(const int64_t more, ExpandSymbolicGradients(bodies.graph_, is_on_the_way, options.limits));
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
