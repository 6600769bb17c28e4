#include "graph/gradients/connected_inputs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/functions/call_site.h"
#include "graph/functions/shape_bodies.h"
#include "graph/gradients/gradient.h"
#include "graph/gradients/gradient_row.h"
#include "graph/gradients/gradient_table.h"
#include "graph/ir/made_nodes.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

// The name of the While that the node was lowered from; empty for others.
std::string NameOfWhile(const Graph& graph, NodeId id) {
  const MadeFor made_for = MadeForOf(graph, id);
  return OpClassOf(made_for.op) == OpClass::kWhile ? made_for.name : "";
}

// Whether gradients flow through a node that calls nothing. Not through the IdentityN of a tf.custom_gradient: its
// function decides which inputs have gradients.
bool HasGradient(const Graph& graph, NodeId id) {
  if (graph.HasAttr(id, "_gradient_op_type")) return !graph.Is(id, "IdentityN");
  const OpTraits::Gradient gradient = graph.op(id).traits.gradient;
  return gradient != OpTraits::Gradient::kNone && gradient != OpTraits::Gradient::kRefused;
}

// Finds the arguments that the results of functions depend on.
class BodyArguments {
 public:
  BodyArguments(const Graph& graph, const LoadLimits& limits)
      : bodies_(graph, limits), max_depth_(limits.max_call_depth) {}

  // The same, by argument, for any of the functions that `id` of `caller` calls.
  std::vector<bool> OfCallees(const Graph& caller, NodeId id, CallFinder& finder, size_t num_args);

 private:
  std::vector<bool> OfBody(const Graph& body);

  ShapeBodies bodies_;
  const int64_t max_depth_;
  HashMap<const Graph*, std::vector<bool>> known_;
  int depth_ = 0;
};

// Walks through one graph from values to their inputs.
class BackwardWalk {
 public:
  // The walk ends at the inputs in `without`, which may be null.
  BackwardWalk(const Graph& graph, BodyArguments& bodies, const HashSet<Output>* without)
      : graph_(graph),
        bodies_(bodies),
        without_(without),
        finder_(graph),
        is_seen_(static_cast<size_t>(graph.id_limit()), false) {}

  // Calls `visit` for each value on the way that may have a gradient: not for integers, strings and the like.
  template <typename Visit>
  void From(std::vector<Output> queue, const Visit& visit) {
    for (size_t next = 0; next < queue.size(); ++next) {
      const Output at = queue[next];
      if (!IsDifferentiable(graph_.output_type(at.node, at.index)) || !visit(at)) continue;
      if (is_seen_[static_cast<size_t>(at.node.value())]) continue;
      is_seen_[static_cast<size_t>(at.node.value())] = true;
      for (const Output& input : InputsOf(at.node)) queue.push_back(input);
    }
  }
  // Returns the inputs of a node that have gradients if its outputs have.
  std::vector<Output> InputsOf(NodeId id) {
    const absl::Span<const Output> inputs = graph_.inputs(id);
    const CallKind kind = finder_.KindOf(id);
    if (!IsExpanded(kind) && !HasGradient(graph_, id)) return {};
    const bool has_all = !IsExpanded(kind) || kind == CallKind::kWhile;
    // The first input of an If or a Case chooses.
    const size_t skipped = kind == CallKind::kIf || kind == CallKind::kCase ? 1 : 0;
    const std::vector<bool> args = has_all ? std::vector<bool>(inputs.size(), true)
                                           : bodies_.OfCallees(graph_, id, finder_, inputs.size() - skipped);
    std::vector<Output> connected;
    for (size_t i = 0; i < args.size(); ++i) {
      const size_t input = skipped + i;
      const bool is_cut = without_ != nullptr && without_->contains({id, static_cast<int32_t>(input)});
      if (args[i] && !is_cut) connected.push_back(inputs[input]);
    }
    return connected;
  }
  bool IsCall(NodeId id) { return IsExpanded(finder_.KindOf(id)); }

 private:
  const Graph& graph_;
  BodyArguments& bodies_;
  const HashSet<Output>* const without_;
  CallFinder finder_;
  std::vector<bool> is_seen_;
};

std::vector<bool> BodyArguments::OfCallees(const Graph& caller, NodeId id, CallFinder& finder, size_t num_args) {
  const absl::StatusOr<std::vector<Callee>> callees = finder.Callees(id);
  std::vector<bool> any(num_args, !callees.ok());
  if (!callees.ok()) return any;
  for (const Callee& callee : *callees) {
    const Graph* const body = depth_ < max_depth_ ? bodies_.Find(caller, {callee.name, callee.attrs}) : nullptr;
    // If the body is missing, all arguments.
    const std::vector<bool> args = body != nullptr ? OfBody(*body) : std::vector<bool>(num_args, true);
    for (size_t i = 0; i < std::min(args.size(), num_args); ++i) any[i] = any[i] || args[i];
  }
  return any;
}

std::vector<bool> BodyArguments::OfBody(const Graph& body) {
  const auto [made, is_new] = known_.try_emplace(&body);
  if (!is_new) return made->second;
  ++depth_;
  std::vector<Output> results;
  for (int32_t i = 0; i < body.id_limit(); ++i) {
    const NodeId id(i);
    if (body.Contains(id) && body.Is(id, "_Retval")) results.push_back(body.inputs(id)[0]);
  }
  std::vector<bool> args;
  BackwardWalk(body, *this, nullptr).From(std::move(results), [&](const Output& at) {
    if (!body.Is(at.node, "_Arg")) return true;
    const absl::StatusOr<int64_t> index = body.GetInt(at.node, "index");
    if (!index.ok() || *index < 0 || *index >= body.id_limit()) return false;
    if (args.size() <= static_cast<size_t>(*index)) args.resize(static_cast<size_t>(*index) + 1, false);
    args[static_cast<size_t>(*index)] = true;
    return false;
  });
  --depth_;
  known_[&body] = args;
  return args;
}

}  // namespace

ConnectedInputs::ConnectedInputs(const Graph& graph, absl::Span<const Output> ys, absl::Span<const Output> stop,
                                 const HashSet<Output>& without, const LoadLimits& limits) {
  BodyArguments bodies(graph, limits);
  const HashSet<Output> stops(stop.begin(), stop.end());
  BackwardWalk from_ys(graph, bodies, &without);
  HashSet<NodeId> met;
  std::vector<Output> starts;
  HashSet<std::string> loops;
  from_ys.From({ys.begin(), ys.end()}, [&](const Output& at) {
    if (stops.contains(at)) return false;
    const OpClass op_class = graph.op(at.node).op_class;
    // A loop may have no Exit, if only values on stacks are read from it.
    if (op_class == OpClass::kExit || op_class == OpClass::kEnter) loops.insert(NameOfWhile(graph, at.node));
    if (from_ys.IsCall(at.node) && met.insert(at.node).second) {
      for (const Output& input : from_ys.InputsOf(at.node)) starts.push_back(input);
    }
    return true;
  });
  loops.erase("");
  for (int32_t i = 0; i < graph.id_limit() && !loops.empty(); ++i) {
    const NodeId id(i);
    if (!graph.Contains(id) || graph.op(id).op_class != OpClass::kEnter) continue;
    if (loops.contains(NameOfWhile(graph, id))) starts.push_back(graph.inputs(id)[0]);
  }
  BackwardWalk(graph, bodies, &without).From(std::move(starts), [&](const Output& at) {
    inputs_.insert(at);
    return !stops.contains(at);
  });
}

}  // namespace sluice
