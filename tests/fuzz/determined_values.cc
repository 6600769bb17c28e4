#include "tests/fuzz/determined_values.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/ir/function_library.h"
#include "graph/ir/tensor_id.h"

namespace sluice {
namespace {

bool IsUndetermined(const OpSchema* op) { return op == nullptr || op->is_stateful || op->op_class == OpClass::kMerge; }

bool HasUndeterminedFunction(const Graph& graph) {
  for (const std::string& name : graph.library().Names()) {
    for (const NodeDefView& node : graph.library().Find(name)->nodes) {
      if (IsUndetermined(graph.FindOp(node.op))) return true;
    }
  }
  return false;
}

// Whether the node calls a function, whatever way.
bool CallsFunction(const Graph& graph, NodeId id) {
  if (graph.library().Contains(graph.op_name(id))) return true;
  for (const NamedAttr& attr : graph.attrs(id)) {
    if (attr.value.kind() == AttrKind::kFunc) return true;
    const auto list = attr.value.AsFuncList();
    if (list.ok() && !list->empty()) return true;
  }
  return false;
}

}  // namespace

DeterminedValues::DeterminedValues(const Graph& graph, const FeedFetchSpec& spec)
    : graph_(graph), spec_(spec), is_undetermined_(static_cast<size_t>(graph.id_limit())) {
  absl::flat_hash_set<absl::string_view> fed;
  for (const std::string& feed : spec.feeds) fed.insert(ParseTensorId(feed).node);
  const bool calls_count = HasUndeterminedFunction(graph);
  std::vector<std::vector<NodeId>> consumers(is_undetermined_.size());
  std::vector<NodeId> open;
  for (const NodeId id : graph.Nodes()) {
    if (fed.contains(graph.name(id))) continue;
    for (const Output& input : graph.all_inputs(id)) {
      if (input.is_set()) consumers[static_cast<size_t>(input.node.value())].push_back(id);
    }
    if (IsUndetermined(&graph.op(id)) || (calls_count && CallsFunction(graph, id))) open.push_back(id);
  }
  while (!open.empty()) {
    const auto index = static_cast<size_t>(open.back().value());
    open.pop_back();
    if (is_undetermined_[index]) continue;
    is_undetermined_[index] = true;
    open.insert(open.end(), consumers[index].begin(), consumers[index].end());
  }
}

bool DeterminedValues::IsDetermined(absl::string_view endpoint) const {
  const NodeId id = graph_.Find(ParseTensorId(endpoint).node);
  return id.valid() && !is_undetermined_[static_cast<size_t>(id.value())];
}

bool DeterminedValues::AreAllDetermined() const {
  const auto is_determined = [this](const std::string& endpoint) { return IsDetermined(endpoint); };
  return std::all_of(spec_.fetches.begin(), spec_.fetches.end(), is_determined) &&
         std::all_of(spec_.targets.begin(), spec_.targets.end(), is_determined);
}

}  // namespace sluice
