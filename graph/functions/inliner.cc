#include "graph/functions/inliner.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/functions/call_expansion.h"
#include "graph/functions/call_site.h"
#include "graph/functions/function_body.h"
#include "graph/functions/lower_control_flow.h"
#include "graph/ir/made_nodes.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

bool IsTrue(const NamedAttr* attr) {
  if (attr == nullptr) return false;
  const absl::StatusOr<bool> value = attr->value.AsBool();
  return value.ok() && *value;
}

// Whether the attr of `id` is there and has the value `wanted`.
bool HasBool(const Graph& graph, NodeId id, absl::string_view attr, bool wanted) {
  AttrView value;
  if (!graph.FindAttr(id, attr, &value)) return false;
  const absl::StatusOr<bool> is_set = value.AsBool();
  return is_set.ok() && *is_set == wanted;
}

// Whether values after such a node may be dead or belong to a loop.
bool MakesLiveness(OpClass op_class) {
  switch (op_class) {
    case OpClass::kSwitch:
    case OpClass::kSwitchN:
    case OpClass::kEnter:
    case OpClass::kRecv:
    case OpClass::kHostRecv:
    case OpClass::kIf:
    case OpClass::kCase:
    case OpClass::kWhile:
      return true;
    default:
      return false;
  }
}

// Whether in `graph`, or in what its calls may expand to, it matters where a node without inputs stands.
bool HasLiveness(const Graph& graph) {
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    if (graph.Contains(NodeId(i)) && MakesLiveness(graph.op(NodeId(i)).op_class)) return true;
  }
  for (const std::string& name : graph.library().Names()) {
    const std::shared_ptr<const FunctionDefinition> function = graph.library().Find(name);
    for (const NodeDefView& node : function->nodes) {
      if (MakesLiveness(OpClassOf(node.op))) return true;
    }
  }
  return false;
}

bool IsEnter(const Graph& graph, NodeId id) { return graph.op(id).op_class == OpClass::kEnter; }
bool IsExit(const Graph& graph, NodeId id) { return graph.op(id).op_class == OpClass::kExit; }

// Those of `nodes` (a body, in its call's frame) that stand in loops of its own. Linear.
HashSet<NodeId> NodesInLoops(const Graph& graph, const std::vector<NodeId>& nodes) {
  HashSet<NodeId> inside;
  if (std::none_of(nodes.begin(), nodes.end(), [&](NodeId id) { return IsEnter(graph, id); })) return inside;
  const HashSet<NodeId> body(nodes.begin(), nodes.end());
  HashMap<NodeId, std::vector<NodeId>> readers;
  HashMap<NodeId, int> depths;
  std::vector<NodeId> reached;
  const auto reach = [&](NodeId id, int depth) {
    if (!depths.emplace(id, depth + (IsEnter(graph, id) ? 1 : 0)).second) return;
    reached.push_back(id);
  };
  for (const NodeId id : nodes) {
    const absl::Span<const Output> inputs = graph.all_inputs(id);
    for (const Output& input : inputs) readers[input.node].push_back(id);
    const auto is_outside = [&body](const Output& input) { return !body.contains(input.node); };
    if (inputs.empty() || std::any_of(inputs.begin(), inputs.end(), is_outside)) reach(id, 0);
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    const int depth = depths.at(reached[i]);
    if (depth > 0) inside.insert(reached[i]);
    for (const NodeId reader : readers[reached[i]]) reach(reader, depth - (IsExit(graph, reached[i]) ? 1 : 0));
  }
  return inside;
}

// Replaces one call by the body of its function. See Note [Inlining].
class CallInliner {
 public:
  // `has_liveness`: see HasLiveness.
  CallInliner(CallExpansion& expansion, NodeId call, const BoundFunction& function, CallKind kind, bool has_liveness,
              bool prune)
      : expansion_(expansion),
        graph_(expansion.graph()),
        call_(call),
        function_(function),
        kind_(kind),
        has_liveness_(has_liveness),
        prune_(prune),
        name_(graph_.name(call)),
        device_(graph_.device(call)),
        made_for_(MadeForOf(graph_, call)),
        mark_(MadeForAttr(made_for_)) {}

  // What has come into the graph. Results and control results may have been replaced in turn, later.
  absl::StatusOr<BodyNodes> Run() {
    SLUICE_RETURN_IF_ERROR(expansion_.Count(call_, function_.definition->nodes.size()));
    BodyOptions options;
    options.prefix = absl::StrCat(name_, "/");
    options.prune = prune_;
    options.device = device_;
    SLUICE_RETURN_IF_ERROR(AddInputs(&options.args));
    SLUICE_ASSIGN_OR_RETURN(BodyNodes body, AddFunctionBody(graph_, function_, options));
    SLUICE_RETURN_IF_ERROR(HoldBack(body));
    std::vector<CallExpansion::Replacement> outputs;
    SLUICE_RETURN_IF_ERROR(AddOutputs(body, &outputs));
    std::vector<NodeId> done = Done(body, outputs);
    SLUICE_RETURN_IF_ERROR(expansion_.Replace(call_, std::move(outputs), std::move(done)));
    return body;
  }

 private:
  std::string HelperName(absl::string_view what, size_t index) const {
    return absl::StrCat("Func/", name_, "/", what, "/_", index);
  }

  absl::Status AddInputs(std::vector<Output>* args) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Output> inputs, expansion_.Inputs(call_));
    std::vector<NodeId> controls = expansion_.Controls(call_);
    if (!controls.empty()) {
      SLUICE_ASSIGN_OR_RETURN(input_control_, expansion_.Add("NoOp", HelperName("input_control_node", 0), {},
                                                             std::move(controls), {mark_}, device_));
      controls = {input_control_};
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const AttrValue type(BaseType(function_.signature.inputs[i]));
      SLUICE_ASSIGN_OR_RETURN(const NodeId id, expansion_.Add("Identity", HelperName("input", i), {inputs[i]}, controls,
                                                              {{"T", type}, mark_}, graph_.device(inputs[i].node)));
      args->push_back(Output{id, 0});
      input_nodes_.push_back(id);
    }
    return absl::OkStatus();
  }

  // Makes what must not begin before the call wait for all its inputs: effects, since programs order calls by their
  // arguments alone, and where values may be dead, all nodes without inputs.
  absl::Status HoldBack(const BodyNodes& body) {
    if (input_nodes_.empty() && !input_control_.valid()) return absl::OkStatus();
    std::vector<NodeId> early;
    const HashSet<NodeId> in_loops = NodesInLoops(graph_, body.nodes);
    for (const NodeId id : body.stateful) {
      if (!in_loops.contains(id) && !ReadsAllInputs(id)) early.push_back(id);
    }
    if (has_liveness_) {
      for (const NodeId id : body.nodes) {
        if (graph_.all_inputs(id).empty()) early.push_back(id);
      }
    }
    if (early.empty()) return absl::OkStatus();
    NodeId hold = input_control_;
    if (!input_nodes_.empty()) {
      SLUICE_ASSIGN_OR_RETURN(
          hold, expansion_.Add("NoOp", HelperName("inputs_ready", 0), {}, input_nodes_, {mark_}, device_));
    }
    for (const NodeId id : early) SLUICE_RETURN_IF_ERROR(graph_.AddControl(id, hold));
    return absl::OkStatus();
  }

  // Whether `id` waits for each input of the call as it is.
  bool ReadsAllInputs(NodeId id) const {
    const absl::Span<const Output> inputs = graph_.all_inputs(id);
    if (input_nodes_.empty() || inputs.size() < input_nodes_.size()) return false;
    HashSet<NodeId> read;
    for (const Output& input : inputs) read.insert(input.node);
    return std::all_of(input_nodes_.begin(), input_nodes_.end(), [&](NodeId input) { return read.contains(input); });
  }

  absl::Status AddOutputs(const BodyNodes& body, std::vector<CallExpansion::Replacement>* outputs) {
    for (size_t i = 0; i < body.results.size(); ++i) {
      const AttrValue type(BaseType(function_.signature.outputs[i]));
      SLUICE_ASSIGN_OR_RETURN(const NodeId id,
                              expansion_.Add("Identity", HelperName("output", i), {body.results[i]}, {},
                                             {{"T", type}, OutputMark(i)}, graph_.device(body.results[i].node)));
      outputs->push_back({Output{id, 0}, NodeId()});
    }
    return absl::OkStatus();
  }

  // A call that a user wrote is known by its outputs; of one that was made for something else the body's are.
  std::pair<std::string, AttrValue> OutputMark(size_t i) const {
    if (made_for_.name != name_) return mark_;
    return MadeForAttr({made_for_.op, made_for_.name, static_cast<int32_t>(i)});
  }

  // What has run when the call has.
  std::vector<NodeId> Done(const BodyNodes& body, const std::vector<CallExpansion::Replacement>& outputs) const {
    std::vector<NodeId> done = body.control_results;
    if (kind_ == CallKind::kCall && !done.empty()) return done;
    for (const CallExpansion::Replacement& output : outputs) done.push_back(output.value.node);
    done.insert(done.end(), body.stateful.begin(), body.stateful.end());
    if (done.empty()) done = input_nodes_;
    if (done.empty() && input_control_.valid()) done.push_back(input_control_);
    return done;
  }

  CallExpansion& expansion_;
  Graph& graph_;
  const NodeId call_;
  const BoundFunction& function_;
  const CallKind kind_;
  const bool has_liveness_;
  const bool prune_;
  const std::string name_;
  const std::string device_;
  const MadeFor made_for_;
  const std::pair<std::string, AttrValue> mark_;  // Of helper nodes that pass something on.
  NodeId input_control_;
  std::vector<NodeId> input_nodes_;
};

// Decides what becomes of each call. Lives for one InlineFunctionCalls.
class Driver {
 public:
  Driver(Graph& graph, const InlineOptions& options)
      : graph_(graph), options_(options), finder_(graph), expansion_(graph, options.limits) {}

  absl::StatusOr<InlineReport> Run() {
    for (NodeId id : options_.keep) expansion_.Keep(id);
    const bool calls_some = options_.choice != nullptr && options_.choice->CallsAny();
    const std::vector<bool> is_late = calls_some ? options_.choice->FindLateNodes(graph_) : std::vector<bool>();
    const int32_t end = graph_.id_limit();
    for (int32_t i = 0; i < end; ++i) {
      const bool may_stay = calls_some && !is_late[static_cast<size_t>(i)];
      if (graph_.Contains(NodeId(i))) Consider(NodeId(i), 1, options_.keep_all, may_stay, options_.scope);
    }
    CallExpansion::Pending pending;
    while (expansion_.Pop(&pending)) {
      const int64_t before = expansion_.nodes_added();
      SLUICE_RETURN_IF_ERROR(Expand(pending));
      SLUICE_RETURN_IF_ERROR(PollStop(options_.stop, 1 + expansion_.nodes_added() - before));
    }
    SLUICE_RETURN_IF_ERROR(expansion_.Finish());
    report_.nodes_added = expansion_.nodes_added();
    return report_;
  }

 private:
  bool IsToLower(NodeId id) const {
    if (!options_.lower_control_flow) return false;
    if (options_.ignore_marks || HasBool(graph_, id, "_lower_using_switch_merge", true)) return true;
    return options_.lower_unmarked && !HasBool(graph_, id, "_lower_using_switch_merge", false);
  }

  // Whether this call of `function` is not to be replaced.
  bool Stays(const CallExpansion::Pending& pending, const BoundFunction& function) const {
    if (options_.choice != nullptr) return pending.may_stay && options_.choice->IsCalled(function.name());
    return !options_.ignore_marks && IsTrue(function.definition->FindAttr("_noinline"));
  }

  // Whether calls in the body of `function`, or in the next iteration of a loop of it, have live arguments in time.
  bool KeepsTime(const BoundFunction& function) const {
    return options_.choice == nullptr || !options_.choice->MakesLate(function.name());
  }

  // Whether all calls of `function` from this one's scope share the state in its body: see Note [State of calls].
  bool SharesState(const CallExpansion::Pending& pending, const BoundFunction& function) const {
    if (options_.states == nullptr || options_.choice == nullptr) return false;
    if (!options_.choice->MayKeepState(function.name())) return false;
    return pending.is_of_functional || IsTrue(function.definition->FindAttr("_noinline"));
  }

  // Tells `nodes` of ops with state, which have come into the graph in `scope`, what they share it with.
  absl::Status TellState(const std::vector<NodeId>& nodes, const CallStates::Scope& scope) {
    if (scope.instance == options_.scope.instance) return absl::OkStatus();
    for (const NodeId id : nodes) {
      if (IsExpanded(finder_.KindOf(id))) continue;
      const std::string key = CallStates::NodeKey(scope, graph_.name(id));
      SLUICE_RETURN_IF_ERROR(graph_.SetAttr(id, CallStates::kNodeAttr, AttrValue(key)));
    }
    return absl::OkStatus();
  }

  void Consider(NodeId id, int depth, bool keep, bool may_stay, const CallStates::Scope& scope) {
    const CallKind kind = finder_.KindOf(id);
    bool expand = false;
    if (kind == CallKind::kDirect || kind == CallKind::kCall) expand = options_.inline_calls;
    if (kind == CallKind::kIf || kind == CallKind::kCase) expand = IsToLower(id);
    if (kind == CallKind::kWhile) expand = IsToLower(id) && CanLowerLoop(graph_, id);
    if (!expand || (options_.leave != nullptr && (*options_.leave)(id))) return;
    if (keep) expansion_.Keep(id);
    expansion_.Push(id, depth, may_stay, scope);
  }

  absl::Status Expand(const CallExpansion::Pending& pending) {
    const NodeId id = pending.call;
    if (pending.depth > options_.limits.max_call_depth) {
      return graph_.Locate(id, Error(ErrorCode::kLimitCallDepth)
                                   .Limit("max_call_depth", options_.limits.max_call_depth)
                                   .Text("is nested in too many calls"));
    }
    SLUICE_ASSIGN_OR_RETURN(const std::vector<BoundFunction> callees,
                            BindCallees(graph_, id, finder_, graph_.library()));
    switch (const CallKind kind = finder_.KindOf(id)) {
      case CallKind::kDirect:
      case CallKind::kCall:
        return options_.inline_calls ? ExpandCall(pending, kind, callees[0]) : absl::OkStatus();
      case CallKind::kIf:
      case CallKind::kCase:
        ++report_.conditionals;
        if (!HasBool(graph_, id, "_lower_using_switch_merge", true)) expansion_.IsFunctional();
        return LowerConditional(expansion_, id, kind, callees, pending.depth);
      case CallKind::kWhile:
        ++report_.loops;
        if (!KeepsTime(callees[0]) || !KeepsTime(callees[1])) expansion_.NoneMayStay();
        if (!HasBool(graph_, id, "_lower_using_switch_merge", true)) expansion_.IsFunctional();
        return LowerLoop(expansion_, id, callees[0], callees[1], pending.depth);
      default:
        return absl::OkStatus();
    }
  }

  absl::Status ExpandCall(const CallExpansion::Pending& pending, CallKind kind, const BoundFunction& function) {
    const NodeId id = pending.call;
    const bool shares_state = SharesState(pending, function);
    CallStates::Scope scope = pending.scope;
    if (shares_state) {
      scope = options_.states->Enter(scope, kind == CallKind::kCall && !pending.is_of_functional, function);
      scope.prefix = graph_.name(id).size() + 1;
    }
    if (Stays(pending, function)) {
      ++report_.calls_left;
      return shares_state ? graph_.SetAttr(id, CallStates::kCallAttr, AttrValue(int64_t{scope.instance}))
                          : absl::OkStatus();
    }
    ++report_.calls;
    if (!has_liveness_.has_value()) has_liveness_ = HasLiveness(graph_);
    CallInliner inliner(expansion_, id, function, kind, *has_liveness_, options_.prune);
    SLUICE_ASSIGN_OR_RETURN(const BodyNodes body, inliner.Run());
    SLUICE_RETURN_IF_ERROR(TellState(body.stateful, scope));
    const bool may_stay = pending.may_stay && KeepsTime(function);
    for (NodeId node : body.nodes) Consider(node, pending.depth + 1, /*keep=*/false, may_stay, scope);
    return absl::OkStatus();
  }

  Graph& graph_;
  const InlineOptions& options_;
  CallFinder finder_;
  CallExpansion expansion_;
  std::optional<bool> has_liveness_;  // Looked up when the first call is inlined.
  InlineReport report_;
};

}  // namespace

absl::StatusOr<InlineReport> InlineFunctionCalls(Graph& graph, const InlineOptions& options) {
  return Driver(graph, options).Run();
}

}  // namespace sluice
