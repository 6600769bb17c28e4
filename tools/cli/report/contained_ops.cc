#include "tools/cli/report/contained_ops.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/ir/attr.h"
#include "graph/ir/function_library.h"

namespace sluice {
ContainedOps::ContainedOps(const Graph& graph, IsWanted is_wanted) : graph_(graph), is_wanted_(is_wanted) {
  absl::flat_hash_map<std::string, std::vector<std::string>> callers;
  std::vector<std::string> found;
  for (const std::string& name : graph.library().Names()) {
    bool has_wanted = false;
    for (const NodeDefView& node : graph.library().Find(name)->nodes) {
      has_wanted = has_wanted || is_wanted(node.op);
      if (graph.library().Contains(node.op)) callers[std::string(node.op)].push_back(name);
      for (const NamedAttr& attr : node.attrs) {
        attr.value.ForEachFunction([&](absl::string_view callee) { callers[std::string(callee)].push_back(name); });
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
      AttrView(encoded).ForEachFunction([&](absl::string_view f) { found = found || functions_.contains(f); });
  });
  return found;
}

}  // namespace sluice
