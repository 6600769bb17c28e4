#include "graph/gradients/conditions.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"

namespace sluice {

namespace {

// Whether the node's value is its input's, wherever it is live.
bool HasValueOfInput(const Graph& graph, NodeId id) {
  // A fed PlaceholderWithDefault differs from its input.
  return graph.op(id).op_class == OpClass::kForward && !graph.Is(id, "PlaceholderWithDefault");
}

}  // namespace

bool HandsOn(const Graph& graph, NodeId id) { return HasValueOfInput(graph, id) && graph.controls(id).empty(); }

absl::Status Conditions::Init() {
  Intern({});
  SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph_));
  sets_.assign(static_cast<size_t>(graph_.id_limit()), 0);
  for (const NodeId id : order) Take(id);
  return status_;
}

int32_t Conditions::Intern(List list) {
  const auto known = numbers_.find(list);
  if (known != numbers_.end()) return known->second;
  if (list.size() > kMaxConditions) {
    if (status_.ok()) {
      status_ = Error(ErrorCode::kUnsupported)
                    .Text(absl::StrCat("conditionals are nested more than ", kMaxConditions, " deep"))
                    .Limit("conditions", static_cast<int64_t>(kMaxConditions));
    }
    return 0;
  }
  num_listed_ += list.size();
  if (num_listed_ > kMaxListed) {
    if (status_.ok()) {
      status_ = Error(ErrorCode::kUnsupported)
                    .Text("nested conditionals have too many different sets of conditions")
                    .Limit("conditions of all sets", static_cast<int64_t>(kMaxListed));
    }
    return 0;
  }
  const int32_t number = static_cast<int32_t>(lists_.size());
  owned_.push_back(std::make_unique<List>(list));
  lists_.push_back(owned_.back().get());
  numbers_.try_emplace(std::move(list), number);
  return number;
}

int32_t Conditions::Union(int32_t a, int32_t b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  const std::pair<int32_t, int32_t> key(std::min(a, b), std::max(a, b));
  const auto known = unions_.find(key);
  if (known != unions_.end()) return known->second;
  const List& left = *lists_[static_cast<size_t>(a)];
  const List& right = *lists_[static_cast<size_t>(b)];
  List both;
  std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  const int32_t set = Intern(std::move(both));
  unions_.try_emplace(key, set);
  return set;
}

int32_t Conditions::Common(int32_t a, int32_t b) {
  if (a == b) return a;
  const List& left = *lists_[static_cast<size_t>(a)];
  const List& right = *lists_[static_cast<size_t>(b)];
  List both;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  return Intern(std::move(both));
}

int32_t Conditions::SetOf(const Output& output) {
  while (static_cast<int32_t>(sets_.size()) <= output.node.value()) {
    sets_.push_back(0);
    Take(NodeId(static_cast<int32_t>(sets_.size()) - 1));
  }
  const int32_t set = sets_[static_cast<size_t>(output.node.value())];
  if (output.is_control() || !graph_.Contains(output.node)) return set;
  if (!IsGate(graph_.op(output.node).op_class)) return set;
  const int32_t num_ports = graph_.num_outputs(output.node);
  if (num_ports == 1) return set;
  return Union(set, Intern({Condition{PredicateOf(output.node), output.index, num_ports}}));
}

Output Conditions::PredicateOf(NodeId gate) const {
  Output predicate = graph_.inputs(gate)[1];
  std::vector<Output> way;
  // Through Identities with control inputs, too: TensorFlow puts them before some Switches of a conditional and not
  // before others. If such an Identity is dead, so is its Switch.
  while (HasValueOfInput(graph_, predicate.node)) {
    const auto known = handed_on_.find(predicate);
    way.push_back(predicate);
    predicate =
        known != handed_on_.end() ? known->second : graph_.inputs(predicate.node)[static_cast<size_t>(predicate.index)];
  }
  for (const Output& output : way) handed_on_.try_emplace(output, predicate);
  return predicate;
}

void Conditions::State(NodeId id, List list) {
  SetOf({id, kControlIndex});  // Adds the nodes before it.
  sets_[static_cast<size_t>(id.value())] = Intern(std::move(list));
}

int32_t Conditions::OfMerge(NodeId id) {
  int32_t set = -1;
  for (const Output& input : graph_.inputs(id)) {
    if (!input.is_set() || IsBackEdge(graph_, id, input)) continue;
    set = set < 0 ? SetOf(input) : Common(set, SetOf(input));
  }
  return std::max(set, 0);
}

int32_t Conditions::OfExit(NodeId id) {
  List list = *lists_[static_cast<size_t>(SetOf(graph_.inputs(id)[0]))];
  const auto is_end_of_loop = [&](const Condition& condition) {
    return condition.port == 0 && graph_.op(condition.predicate.node).op_class == OpClass::kLoopCond;
  };
  list.erase(std::remove_if(list.begin(), list.end(), is_end_of_loop), list.end());
  return Intern(std::move(list));
}

void Conditions::Take(NodeId id) {
  if (!graph_.Contains(id)) return;
  const OpClass op_class = graph_.op(id).op_class;
  int32_t set = 0;
  if (op_class == OpClass::kMerge) {
    set = OfMerge(id);
  } else if (op_class == OpClass::kExit) {
    set = OfExit(id);
  } else if (op_class != OpClass::kControlTrigger) {
    for (const Output& input : graph_.inputs(id)) {
      if (input.is_set()) set = Union(set, SetOf(input));
    }
  }
  // A Merge is live if one of its inputs is, whatever its control inputs.
  if (op_class != OpClass::kControlTrigger && op_class != OpClass::kMerge) {
    for (const Output& control : graph_.controls(id)) set = Union(set, SetOf(control));
  }
  sets_[static_cast<size_t>(id.value())] = set;
}

void Conditions::SortByDepth(List* list) {
  std::stable_sort(list->begin(), list->end(), [this](const Condition& a, const Condition& b) {
    return Of(a.predicate).size() < Of(b.predicate).size();
  });
}

Conditions::List Conditions::Beyond(const Output& a, const List& b) {
  const List& all = Of(a);
  List rest;
  std::set_difference(all.begin(), all.end(), b.begin(), b.end(), std::back_inserter(rest));
  SortByDepth(&rest);
  return rest;
}

}  // namespace sluice
