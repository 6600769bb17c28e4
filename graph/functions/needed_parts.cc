#include "graph/functions/needed_parts.h"

#include <cstddef>
#include <cstdint>

#include "graph/base/hash_table.h"

namespace sluice {
namespace {

// Finds what the roots need. Lives for one PruneInlined.
class NeededNodes {
 public:
  NeededNodes(const Graph& graph, const InlinedParts& parts)
      : graph_(graph), parts_(parts), needed_(static_cast<size_t>(graph.id_limit()), false) {
    for (size_t i = 0; i < parts.together.size(); ++i) {
      for (const NodeId id : parts.together[i]) groups_[id].push_back(i);
    }
    are_open_.assign(parts.together.size(), true);
  }

  void Find() {
    for (const auto* const roots : {&parts_.roots, &parts_.control_roots}) {
      for (const NodeId root : *roots) Need(root);
    }
    while (!open_.empty()) {
      const NodeId id = open_.back();
      open_.pop_back();
      for (const Output& input : graph_.all_inputs(id)) {
        if (input.is_set()) Need(input.node);
      }
      const auto found = groups_.find(id);
      if (found == groups_.end()) continue;
      for (const size_t group : found->second) NeedGroup(group);
    }
  }

  bool IsNeeded(NodeId id) const { return needed_[static_cast<size_t>(id.value())]; }

 private:
  void Need(NodeId id) {
    if (!graph_.Contains(id) || needed_[static_cast<size_t>(id.value())]) return;
    needed_[static_cast<size_t>(id.value())] = true;
    open_.push_back(id);
  }

  void NeedGroup(size_t group) {
    if (!are_open_[group]) return;
    are_open_[group] = false;
    for (const NodeId id : parts_.together[group]) Need(id);
  }

  const Graph& graph_;
  const InlinedParts& parts_;
  HashMap<NodeId, std::vector<size_t>> groups_;  // By node: the places in parts_.together.
  std::vector<bool> are_open_;                   // By group: no node has needed it so far.
  std::vector<bool> needed_;                     // By node.
  std::vector<NodeId> open_;
};

}  // namespace

InlinedParts PartsOf(const FunctionGraph& body, BodyRun run) {
  InlinedParts parts;
  for (const auto* const nodes : {&body.args, &body.results}) {
    parts.roots.insert(parts.roots.end(), nodes->begin(), nodes->end());
  }
  parts.control_roots = body.control_results;
  if (run == BodyRun::kResults) return parts;
  for (const NodeId id : body.graph.Nodes()) {
    if (body.graph.op(id).is_stateful) parts.roots.push_back(id);
  }
  return parts;
}

void PruneInlined(Graph& graph, const InlinedParts& parts) {
  NeededNodes needed(graph, parts);
  needed.Find();
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    const NodeId id(i);
    if (graph.Contains(id) && !needed.IsNeeded(id)) graph.RemoveNode(id);
  }
}

}  // namespace sluice
