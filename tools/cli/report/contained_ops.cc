#include "tools/cli/report/contained_ops.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/ir/attr.h"
#include "graph/ir/function_library.h"

namespace sluice {
namespace {

// Calls `visit(name)` for each function that `attr` names, at any depth.
template <typename Visit>
void ForEachNamedFunction(AttrView attr, Visit visit) {
  std::vector<AttrView> open = {attr};
  const auto visit_function = [&](const FuncView& function) {
    visit(function.name);
    for (const auto& bound : function.attrs) open.push_back(bound.second);
  };
  while (!open.empty()) {
    const AttrView view = open.back();
    open.pop_back();
    if (view.kind() == AttrKind::kFunc) {
      if (const absl::StatusOr<FuncView> function = view.AsFunc(); function.ok()) visit_function(*function);
    } else if (view.kind() == AttrKind::kList) {
      const absl::StatusOr<std::vector<FuncView>> functions = view.AsFuncList();
      if (!functions.ok()) continue;
      for (const FuncView& function : *functions) visit_function(function);
    }
  }
}

}  // namespace

ContainedOps::ContainedOps(const Graph& graph, IsWanted is_wanted) : graph_(graph), is_wanted_(is_wanted) {
  absl::flat_hash_map<std::string, std::vector<std::string>> callers;
  std::vector<std::string> found;
  for (const std::string& name : graph.library().Names()) {
    bool has_wanted = false;
    for (const NodeDefView& node : graph.library().Find(name)->nodes) {
      has_wanted = has_wanted || is_wanted(node.op);
      if (graph.library().Contains(node.op)) callers[std::string(node.op)].push_back(name);
      for (const NamedAttr& attr : node.attrs) {
        ForEachNamedFunction(attr.value,
                             [&](absl::string_view callee) { callers[std::string(callee)].push_back(name); });
      }
    }
    if (has_wanted) found.push_back(name);
  }
  while (!found.empty()) {
    const std::string name = std::move(found.back());
    found.pop_back();
    if (!functions_.insert(name).second) continue;
    const auto known = callers.find(name);
    if (known != callers.end()) found.insert(found.end(), known->second.begin(), known->second.end());
  }
}

bool ContainedOps::In(NodeId id) const {
  const absl::string_view op = graph_.op_name(id);
  if (is_wanted_(op)) return true;
  if (functions_.empty()) return false;
  bool found = functions_.contains(op);
  graph_.ForEachAttr(id, [&](absl::string_view, absl::string_view encoded) {
    if (!found)
      ForEachNamedFunction(AttrView(encoded), [&](absl::string_view f) { found = found || functions_.contains(f); });
  });
  return found;
}

}  // namespace sluice
