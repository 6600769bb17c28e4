#include "graph/functions/call_choice.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "graph/functions/call_site.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

// Whether values after such a node may be dead, or come when another run or process sends them.
bool IsLateOp(OpClass op_class) {
  return (IsControlFlow(op_class) && op_class != OpClass::kLoopCond) || op_class == OpClass::kGradSum ||
         IsTransfer(op_class);
}

bool IsConditionalOrLoop(CallKind kind) {
  return kind == CallKind::kIf || kind == CallKind::kCase || kind == CallKind::kWhile;
}

bool HoldsFunctions(const AttrSpec& spec) { return ElementType(spec.type) == AttrType::kFunc; }

// Whether a body may hold nodes of the op and be called all the same. Ops that call are looked at by their callees.
bool IsPlainOp(const OpSchema& op) {
  if (IsLateOp(op.op_class) || op.op_class == OpClass::kArg || op.op_class == OpClass::kRetval) return false;
  // Makes handles of the step's fetches.
  if (absl::StartsWith(op.name, "GetSessionHandle")) return false;
  const auto is_ref = [](const ArgSpec& arg) { return arg.is_ref; };
  return std::none_of(op.inputs.begin(), op.inputs.end(), is_ref) &&
         std::none_of(op.outputs.begin(), op.outputs.end(), is_ref);
}

// Appends the functions that an attr names. False: it names none.
bool AddNames(AttrView value, bool is_list, std::vector<absl::string_view>* names) {
  if (!is_list) {
    const absl::StatusOr<FuncView> function = value.AsFunc();
    if (function.ok()) names->push_back(function->name);
    return function.ok();
  }
  const absl::StatusOr<std::vector<FuncView>> functions = value.AsFuncList();
  for (size_t i = 0; functions.ok() && i < functions->size(); ++i) names->push_back((*functions)[i].name);
  return functions.ok();
}

// The functions that `node` of a body, of this op, calls. False: it cannot be told, or a kernel calls them.
bool FindCallees(const OpSchema& op, const NodeDefView& node, std::vector<absl::string_view>* names) {
  for (const AttrSpec& spec : op.attrs) {
    if (!HoldsFunctions(spec)) continue;
    const NamedAttr* const attr = node.FindAttr(spec.name);
    if (!IsExpanded(CallKindOf(op.name)) || attr == nullptr) return false;
    if (!AddNames(attr->value, IsListType(spec.type), names)) return false;
  }
  return true;
}

}  // namespace

// Finds the functions that a graph reaches, each once, without recursion. Lives for one construction.
class CallChoice::Collector {
 public:
  Collector(CallChoice* choice, const Graph& graph, KeepsState keeps_state)
      : choice_(*choice), graph_(graph), keeps_state_(keeps_state) {}

  void Collect() {
    CallFinder finder(graph_);
    for (int32_t i = 0; i < graph_.id_limit(); ++i) {
      const NodeId id(i);
      if (!graph_.Contains(id) || !IsExpanded(finder.KindOf(id))) continue;
      const absl::StatusOr<std::vector<Callee>> callees = finder.Callees(id);
      for (size_t k = 0; callees.ok() && k < callees->size(); ++k) {
        size_t found = 0;
        if (!Find((*callees)[k].name, &found)) continue;
        choice_.roots_.push_back(found);
        Follow(found);
      }
    }
  }

 private:
  struct Open {
    size_t function;
    size_t next;
  };

  // The function's number; false: the library does not have it.
  bool Find(absl::string_view name, size_t* number) {
    const auto found = choice_.index_.find(name);
    if (found != choice_.index_.end()) {
      *number = found->second;
      return true;
    }
    std::shared_ptr<const FunctionDefinition> definition = graph_.library().Find(name);
    if (definition == nullptr) return false;
    *number = choice_.functions_.size();
    choice_.index_.emplace(std::string(name), *number);
    choice_.functions_.emplace_back();
    choice_.functions_.back().definition = std::move(definition);
    is_open_.push_back(false);
    is_new_.push_back(true);
    return true;
  }

  // Looks at the function and all that it reaches; puts them into order_, callees first.
  void Follow(size_t start) {
    if (!is_new_[start]) return;
    std::vector<Open> path;
    Begin(start, &path);
    while (!path.empty()) {
      const size_t function = path.back().function;
      if (path.back().next == choice_.functions_[function].callees.size()) {
        is_open_[function] = false;
        choice_.order_.push_back(function);
        path.pop_back();
        continue;
      }
      const size_t callee = choice_.functions_[function].callees[path.back().next++];
      // A way back: loading refuses it, but not every graph was loaded.
      if (is_open_[callee]) {
        for (Facts* const facts : {&choice_.functions_[callee], &choice_.functions_[function]}) {
          facts->is_plain = facts->runs_the_same = false;
        }
      }
      if (is_new_[callee]) Begin(callee, &path);
    }
  }

  void Begin(size_t function, std::vector<Open>* path) {
    is_new_[function] = false;
    is_open_[function] = true;
    const std::shared_ptr<const FunctionDefinition> definition = choice_.functions_[function].definition;
    Facts facts;
    facts.definition = definition;
    facts.is_marked = definition->IsMarked("_noinline");
    facts.num_nodes = static_cast<double>(definition->nodes.size());
    for (const NodeDefView& node : definition->nodes) LookAt(node, &facts);
    choice_.functions_[function] = std::move(facts);
    path->push_back({function, 0});
  }

  void LookAt(const NodeDefView& node, Facts* facts) {
    if (!node.device.empty() || node.FindAttr("_class") != nullptr) facts->is_plain = false;
    std::vector<absl::string_view> names;
    if (const OpSchema* const called = graph_.library().FindSchema(node.op); called != nullptr) {
      names.push_back(node.op);
      if (called->is_stateful) facts->runs_the_same = false;
    } else {
      const OpSchema* const op = graph_.ops()->Find(node.op);
      const bool is_known = op != nullptr && FindCallees(*op, node, &names);
      const bool calls_any_function = !is_known && (op == nullptr || IsExpanded(CallKindOf(op->name)));
      facts->makes_late = facts->makes_late || calls_any_function || IsLateOp(op->op_class);
      if (!is_known || !IsPlainOp(*op)) facts->is_plain = false;
      if (op != nullptr && names.empty() && op->is_stateful) facts->has_effects = true;
      if (!is_known || op->is_stateful || IsConditionalOrLoop(CallKindOf(op->name))) facts->runs_the_same = false;
      if (op != nullptr && names.empty() && !facts->keeps_state) facts->keeps_state = KeepsStateOf(*op);
    }
    for (const absl::string_view name : names) {
      size_t callee = 0;
      if (Find(name, &callee)) {
        facts->callees.push_back(callee);
      } else {
        facts->is_plain = facts->runs_the_same = false;
      }
    }
  }

  // Asks once for each op: kernels are looked for in many rows.
  bool KeepsStateOf(const OpSchema& op) {
    const auto [found, is_new] = ops_with_state_.emplace(&op, false);
    if (is_new) found->second = keeps_state_(op);
    return found->second;
  }

  CallChoice& choice_;
  const Graph& graph_;
  const KeepsState keeps_state_;
  HashMap<const OpSchema*, bool> ops_with_state_;  // Whether they are.
  std::vector<bool> is_open_, is_new_;             // By function.
};

CallChoice::CallChoice(const Graph& graph, CallPolicy policy, KeepsState keeps_state) {
  if (graph.library().empty()) return;
  Collector(this, graph, keeps_state).Collect();
  SumUp();
  if (policy != CallPolicy::kInline) Choose(policy);
}

void CallChoice::SumUp() {
  for (const size_t function : order_) {
    Facts& facts = functions_[function];
    for (const size_t callee : facts.callees) {
      facts.num_nodes += functions_[callee].num_nodes;
      facts.is_plain = facts.is_plain && functions_[callee].is_plain;
      facts.makes_late = facts.makes_late || functions_[callee].makes_late;
      facts.keeps_state = facts.keeps_state || functions_[callee].keeps_state;
      facts.has_effects = facts.has_effects || functions_[callee].has_effects;
      facts.runs_the_same = facts.runs_the_same && functions_[callee].runs_the_same;
    }
  }
}

void CallChoice::Choose(CallPolicy policy) {
  for (const size_t root : roots_) functions_[root].num_calls += 1;
  for (auto function = order_.rbegin(); function != order_.rend(); ++function) {
    Facts& facts = functions_[*function];
    const bool is_costly =
        facts.num_calls > 1 && facts.num_nodes >= kMinBody && facts.num_nodes * facts.num_calls > kMaxInlined;
    facts.is_called = MayStay(facts) && (policy == CallPolicy::kCall || facts.is_marked || is_costly);
    calls_any_ = calls_any_ || facts.is_called;
    const double times = facts.is_called ? 1 : facts.num_calls;
    for (const size_t callee : facts.callees) functions_[callee].num_calls += times;
  }
}

bool CallChoice::IsCalled(absl::string_view function) const {
  const auto found = index_.find(function);
  return found != index_.end() && functions_[found->second].is_called;
}

bool CallChoice::MayKeepState(absl::string_view function) const {
  const auto found = index_.find(function);
  return found != index_.end() && functions_[found->second].keeps_state;
}

bool CallChoice::MayHaveEffects(absl::string_view function) const {
  const auto found = index_.find(function);
  return found == index_.end() || functions_[found->second].has_effects;
}

bool CallChoice::RunsTheSame(absl::string_view function) const {
  const auto found = index_.find(function);
  return found != index_.end() && functions_[found->second].runs_the_same;
}

std::vector<absl::string_view> CallChoice::CalleesOf(absl::string_view function) const {
  std::vector<absl::string_view> names;
  const auto found = index_.find(function);
  if (found == index_.end()) return names;
  for (const size_t callee : functions_[found->second].callees) {
    names.push_back(functions_[callee].definition->name());
  }
  return names;
}

bool CallChoice::MakesLate(absl::string_view function) const {
  const auto found = index_.find(function);
  return found == index_.end() || functions_[found->second].makes_late;
}

std::vector<bool> CallChoice::FindLateNodes(const Graph& graph) const {
  CallFinder finder(graph);
  return FindNodesAfter(graph, [&](NodeId id) {
    if (IsLateOp(graph.op(id).op_class)) return true;
    if (!IsExpanded(finder.KindOf(id))) return false;
    const absl::StatusOr<std::vector<Callee>> callees = finder.Callees(id);
    const auto makes_late = [this](const Callee& callee) { return MakesLate(callee.name); };
    return !callees.ok() || std::any_of(callees->begin(), callees->end(), makes_late);
  });
}

std::vector<bool> CallChoice::FindNodesAfter(const Graph& graph, absl::FunctionRef<bool(NodeId id)> begins) {
  const size_t limit = static_cast<size_t>(graph.id_limit());
  std::vector<bool> is_late(limit, false);
  std::vector<NodeId> reached;
  for (const NodeId id : graph.Nodes()) {
    if (!begins(id)) continue;
    is_late[static_cast<size_t>(id.value())] = true;
    reached.push_back(id);
  }
  if (reached.empty()) return is_late;
  std::vector<std::vector<NodeId>> readers(limit);
  for (const NodeId id : graph.Nodes()) {
    for (const Output& input : graph.all_inputs(id)) {
      if (input.is_set()) readers[static_cast<size_t>(input.node.value())].push_back(id);
    }
  }
  while (!reached.empty()) {
    const NodeId id = reached.back();
    reached.pop_back();
    for (const NodeId reader : readers[static_cast<size_t>(id.value())]) {
      if (is_late[static_cast<size_t>(reader.value())]) continue;
      is_late[static_cast<size_t>(reader.value())] = true;
      reached.push_back(reader);
    }
  }
  return is_late;
}

}  // namespace sluice
