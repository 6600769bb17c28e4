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

// Whether the attr of `id` is there and has the value `wanted`.
bool HasBool(const Graph& graph, NodeId id, absl::string_view attr, bool wanted) {
  AttrView value;
  if (!graph.FindAttr(id, attr, &value)) return false;
  const absl::StatusOr<bool> is_set = value.AsBool();
  return is_set.ok() && *is_set == wanted;
}

// Whether values after such a node may be dead or belong to a loop.
bool MakesLiveness(OpClass c) {
  return IsGate(c) || c == OpClass::kEnter || c == OpClass::kRecv || c == OpClass::kHostRecv ||
         (IsFunctionCaller(c) && c != OpClass::kCall);
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
  // How one call is replaced.
  struct Options {
    CallKind kind = CallKind::kCall;
    bool has_liveness = false;  // See HasLiveness.
    bool prune = true;
    BodyRun run = BodyRun::kResults;
    bool is_branch = false;  // Of a conditional, or a function of a loop, whose results are needed each by itself.
  };

  CallInliner(CallExpansion& expansion, NodeId call, const BoundFunction& function, const Options& options)
      : expansion_(expansion),
        graph_(expansion.graph()),
        call_(call),
        function_(function),
        options_(options),
        name_(graph_.name(call)),
        device_(graph_.device(call)),
        made_for_(MadeForOf(graph_, call)),
        mark_(MadeForAttr(made_for_)) {}

  // The nodes that were added to the graph. Results and control results may have been replaced in turn, later.
  absl::StatusOr<BodyNodes> Run() {
    SLUICE_RETURN_IF_ERROR(expansion_.Count(call_, function_.definition->nodes.size()));
    BodyOptions options;
    options.prefix = absl::StrCat(name_, "/");
    options.prune = options_.prune;
    options.keep_effects = options_.run != BodyRun::kResults;
    options.device = device_;
    SLUICE_RETURN_IF_ERROR(AddInputs(&options.args));
    SLUICE_ASSIGN_OR_RETURN(BodyNodes body, AddFunctionBody(graph_, function_, options));
    SLUICE_RETURN_IF_ERROR(HoldBack(body));
    std::vector<CallExpansion::Replacement> outputs;
    SLUICE_RETURN_IF_ERROR(AddOutputs(body, &outputs));
    std::vector<NodeId> done = Done(body, outputs);
    SLUICE_RETURN_IF_ERROR(expansion_.Replace(call_, std::move(outputs), std::move(done)));
    if (!options_.is_branch) NoteParts(body);
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
    if (options_.has_liveness) {
      for (const NodeId id : body.nodes) {
        if (!graph_.all_inputs(id).empty()) continue;
        // All inputs of a branch or a loop's function are live together: one is enough, and needs no other variable.
        if (options_.is_branch) {
          SLUICE_RETURN_IF_ERROR(graph_.AddControl(id, input_control_.valid() ? input_control_ : input_nodes_[0]));
        } else {
          early.push_back(id);
        }
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

  // The nodes whose end is the end of the call.
  std::vector<NodeId> Done(const BodyNodes& body, const std::vector<CallExpansion::Replacement>& outputs) const {
    std::vector<NodeId> done = body.control_results;
    if (options_.kind == CallKind::kCall && !done.empty()) return done;
    if (!options_.is_branch) {
      for (const CallExpansion::Replacement& output : outputs) done.push_back(output.value.node);
    }
    AddEffects(body, &done);
    if (done.empty()) done = input_nodes_;
    if (done.empty() && input_control_.valid()) done.push_back(input_control_);
    return done;
  }

  // Notes what runs where some of it is needed: results, control results and perhaps effects.
  void NoteParts(const BodyNodes& body) {
    std::vector<NodeId> values = {call_};
    AddEffects(body, &values);
    expansion_.Together(std::move(values), body.control_results);
  }

  void AddEffects(const BodyNodes& body, std::vector<NodeId>* nodes) const {
    if (options_.run == BodyRun::kResults) return;
    nodes->insert(nodes->end(), body.stateful.begin(), body.stateful.end());
  }

  CallExpansion& expansion_;
  Graph& graph_;
  const NodeId call_;
  const BoundFunction& function_;
  const Options options_;
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
      if (!graph_.Contains(NodeId(i))) continue;
      NoteControls(NodeId(i));
      Consider(NodeId(i), options_.keep_all, {NodeId(i), 1, may_stay, options_.scope, options_.run});
    }
    CallExpansion::Pending pending;
    while (expansion_.Pop(&pending)) {
      const int64_t before = expansion_.nodes_added();
      SLUICE_RETURN_IF_ERROR(Expand(pending));
      SLUICE_RETURN_IF_ERROR(PollStop(options_.stop, 1 + expansion_.nodes_added() - before));
    }
    SLUICE_RETURN_IF_ERROR(expansion_.Finish());
    if (options_.parts != nullptr) expansion_.AddTo(options_.parts);
    report_.nodes_added = expansion_.nodes_added();
    return report_;
  }

 private:
  using Origin = CallExpansion::Origin;

  bool IsToLower(NodeId id) const {
    if (!options_.lower_control_flow) return false;
    if (options_.ignore_marks || HasBool(graph_, id, "_lower_using_switch_merge", true)) return true;
    return options_.lower_unmarked && !HasBool(graph_, id, "_lower_using_switch_merge", false);
  }

  // Whether this call of `function` is not to be replaced.
  bool Stays(const CallExpansion::Pending& pending, const BoundFunction& function, BodyRun run) const {
    if (options_.choice != nullptr) {
      return pending.may_stay && options_.choice->IsCalled(function.name()) && !RunsInParts(pending, function, run);
    }
    return !options_.ignore_marks && function.definition->IsMarked("_noinline");
  }

  // Whether this call has several effects, and a step may run only some of them.
  bool RunsInParts(const CallExpansion::Pending& pending, const BoundFunction& function, BodyRun run) const {
    return IsLoweredBranch(pending, run) && MayHaveEffects(function);
  }

  bool MayHaveEffects(const BoundFunction& function) const {
    return options_.choice != nullptr && options_.choice->MayHaveEffects(function.name());
  }

  static bool IsLoweredBranch(const CallExpansion::Pending& pending, BodyRun run) {
    return pending.origin == Origin::kLowered && run == BodyRun::kResults;
  }

  // Whether calls in the body of `function`, or in the next iteration of a loop of it, have live arguments in time.
  bool KeepsTime(const BoundFunction& function) const {
    return options_.choice == nullptr || !options_.choice->MakesLate(function.name());
  }

  // Whether all calls of `function` from this one's scope share the state in its body: see Note [State of calls].
  bool SharesState(const CallExpansion::Pending& pending, const BoundFunction& function) const {
    if (options_.states == nullptr || options_.choice == nullptr) return false;
    if (!options_.choice->MayKeepState(function.name())) return false;
    return pending.origin == Origin::kFunctional || function.definition->IsMarked("_noinline");
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

  // Remembers which nodes `id` waits for.
  void NoteControls(NodeId id) {
    for (const Output& control : graph_.controls(id)) waited_for_.insert(control.node);
  }

  // Whether TensorFlow does not lower this If, Case or While.
  bool IsFunctional(const CallExpansion::Pending& pending) const {
    return pending.around == BodyRun::kByName || !HasBool(graph_, pending.call, "_lower_using_switch_merge", true);
  }

  // Which nodes of the body of `function` run. See Note [Effects that nothing reads].
  BodyRun RunOf(const CallExpansion::Pending& pending, CallKind kind, const BoundFunction& function) const {
    if (pending.origin == Origin::kFunctional) return BodyRun::kByName;
    if (pending.origin == Origin::kLowered) {
      return function.definition->IsMarked("_noinline") ? BodyRun::kByName : BodyRun::kResults;
    }
    if (kind == CallKind::kDirect) return BodyRun::kByName;
    const bool keeps_effects = graph_.Is(pending.call, "StatefulPartitionedCall") &&
                               function.definition->control_ret.empty() && waited_for_.contains(pending.call);
    return keeps_effects ? BodyRun::kEffects : BodyRun::kResults;
  }

  // Puts a call on the list of those to replace, if it has to be replaced. `keep`: as the node of that name.
  void Consider(NodeId id, bool keep, const CallExpansion::Pending& pending) {
    const CallKind kind = finder_.KindOf(id);
    bool expand = false;
    if (kind == CallKind::kDirect || kind == CallKind::kCall) expand = options_.inline_calls;
    if (kind == CallKind::kIf || kind == CallKind::kCase) expand = IsToLower(id);
    if (kind == CallKind::kWhile) expand = IsToLower(id) && CanLowerLoop(graph_, id);
    if (!expand || (options_.leave != nullptr && (*options_.leave)(id))) return;
    if (keep) expansion_.Keep(id);
    expansion_.Push(pending);
  }

  absl::Status Expand(const CallExpansion::Pending& pending) {
    const NodeId id = pending.call;
    if (pending.depth > options_.limits.max_call_depth) {
      return graph_.Locate(id, Error(ErrorCode::kLimitCallDepth)
                                   .Limit("max_call_depth", options_.limits.max_call_depth)
                                   .Text("is nested in too many calls"));
    }
    absl::StatusOr<std::vector<BoundFunction>> bound = BindCallees(graph_, id, finder_, graph_.library());
    if (!bound.ok()) return pending.depth > 1 ? InBody(bound.status()) : bound.status();
    const std::vector<BoundFunction> callees = *std::move(bound);
    switch (const CallKind kind = finder_.KindOf(id)) {
      case CallKind::kDirect:
      case CallKind::kCall:
        return options_.inline_calls ? ExpandCall(pending, kind, callees[0]) : absl::OkStatus();
      case CallKind::kIf:
      case CallKind::kCase:
        ++report_.conditionals;
        if (IsFunctional(pending)) RunsAll(id);
        return LowerConditional(expansion_, id, kind, callees, pending.depth);
      case CallKind::kWhile:
        ++report_.loops;
        if (!KeepsTime(callees[0]) || !KeepsTime(callees[1])) expansion_.NoneMayStay();
        if (IsFunctional(pending)) {
          RunsAll(id);
        } else if (MayHaveEffects(callees[0]) || MayHaveEffects(callees[1])) {
          expansion_.NoneMayStay();  // A call would need all loop variables, and so all effects.
        }
        return LowerLoop(expansion_, id, callees[0], callees[1], pending.depth);
      default:
        return absl::OkStatus();
    }
  }

  // The conditional or loop that was popped last is a functional one.
  void RunsAll(NodeId id) {
    expansion_.IsFunctional();
    expansion_.Together({id}, {});
  }

  absl::Status ExpandCall(const CallExpansion::Pending& pending, CallKind kind, const BoundFunction& function) {
    const NodeId id = pending.call;
    const bool shares_state = SharesState(pending, function);
    CallStates::Scope scope = pending.scope;
    if (shares_state) {
      const bool by_call_op = kind == CallKind::kCall && pending.origin != Origin::kFunctional;
      const CallStates::Scope from = scope;
      scope = options_.states->Enter(from, by_call_op, function);
      if (options_.names != nullptr) options_.names->Add(from, by_call_op, function, scope.instance);
      scope.prefix = graph_.name(id).size() + 1;
    }
    const BodyRun run = RunOf(pending, kind, function);
    if (Stays(pending, function, run)) {
      ++report_.calls_left;
      if (run != BodyRun::kResults) {
        SLUICE_RETURN_IF_ERROR(graph_.SetAttr(id, kBodyRunAttr, AttrValue(static_cast<int64_t>(run))));
      }
      return shares_state ? graph_.SetAttr(id, CallStates::kCallAttr, AttrValue(int64_t{scope.instance}))
                          : absl::OkStatus();
    }
    ++report_.calls;
    if (!has_liveness_.has_value()) has_liveness_ = HasLiveness(graph_);
    CallInliner inliner(expansion_, id, function,
                        {kind, *has_liveness_, options_.prune, run, IsLoweredBranch(pending, run)});
    SLUICE_ASSIGN_OR_RETURN(const BodyNodes body, inliner.Run());
    SLUICE_RETURN_IF_ERROR(TellState(body.stateful, scope));
    const bool may_stay = pending.may_stay && KeepsTime(function);
    for (const NodeId node : body.nodes) NoteControls(node);
    for (const NodeId node : body.nodes) {
      Consider(node, /*keep=*/false, {node, pending.depth + 1, may_stay, scope, run});
    }
    return absl::OkStatus();
  }

  Graph& graph_;
  const InlineOptions& options_;
  CallFinder finder_;
  CallExpansion expansion_;
  HashSet<NodeId> waited_for_;        // Nodes that others have as control inputs.
  std::optional<bool> has_liveness_;  // Looked up when the first call is inlined.
  InlineReport report_;
};

}  // namespace

BodyRun BodyRunOf(const Graph& graph, NodeId call) {
  if (!graph.HasAttr(call, kBodyRunAttr)) return BodyRun::kResults;
  const int64_t run = graph.GetInt(call, kBodyRunAttr).value_or(0);
  return run == static_cast<int64_t>(BodyRun::kEffects)  ? BodyRun::kEffects
         : run == static_cast<int64_t>(BodyRun::kByName) ? BodyRun::kByName
                                                         : BodyRun::kResults;
}

absl::StatusOr<InlineReport> InlineFunctionCalls(Graph& graph, const InlineOptions& options) {
  return Driver(graph, options).Run();
}

}  // namespace sluice
