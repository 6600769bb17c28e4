#include "graph/passes/common_subexpression.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/base/status_macros.h"
#include "graph/ir/topo_order.h"
#include "graph/passes/node_traits.h"
#include "graph/passes/output_replacer.h"

namespace sluice {
namespace {

// What two nodes must share to be one. Views into the graph.
struct NodeKey {
  const OpSchema* op;
  absl::string_view device;
  std::vector<Output> inputs;                                          // Data, then controls, as replaced so far.
  std::vector<std::pair<absl::string_view, absl::string_view>> attrs;  // By name; encoded values.

  friend bool operator==(const NodeKey& a, const NodeKey& b) {
    return a.op == b.op && a.device == b.device && a.inputs == b.inputs && a.attrs == b.attrs;
  }
  template <typename H>
  friend H AbslHashValue(H h, const NodeKey& key) {
    return H::combine(std::move(h), key.op, key.device, key.inputs, key.attrs);
  }
};

bool Before(const Output& a, const Output& b) { return a.node != b.node ? a.node < b.node : a.index < b.index; }

NodeKey KeyOf(const Graph& graph, NodeId id, const OutputReplacer& replacer) {
  NodeKey key{&graph.op(id), graph.device(id), {}, {}};
  for (const Output& input : graph.all_inputs(id)) key.inputs.push_back(replacer.Resolve(input));
  const auto data_end = key.inputs.begin() + static_cast<std::ptrdiff_t>(graph.inputs(id).size());
  if (graph.op(id).is_commutative && graph.inputs(id).size() == 2) std::sort(key.inputs.begin(), data_end, Before);
  std::sort(data_end, key.inputs.end(), Before);
  key.inputs.erase(std::unique(data_end, key.inputs.end()), key.inputs.end());
  for (const NamedAttr& attr : graph.attrs(id)) key.attrs.emplace_back(attr.name, attr.value.bytes());
  std::sort(key.attrs.begin(), key.attrs.end());
  return key;
}

}  // namespace

absl::StatusOr<int64_t> CommonSubexpressionPass::Run(Graph& graph) const {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph));
  absl::flat_hash_set<NodeId> kept;
  for (const std::string& name : keep_) kept.insert(graph.Find(name));
  absl::flat_hash_map<NodeKey, NodeId> first;
  OutputReplacer replacer;
  std::vector<NodeId> redundant;
  int64_t changes = 0;
  for (NodeId id : order) {
    if (!IsPure(graph, id)) continue;
    const auto inserted = first.emplace(KeyOf(graph, id, replacer), id);
    if (inserted.second) continue;
    const NodeId other = inserted.first->second;
    for (int32_t i = kControlIndex; i < graph.num_outputs(id); ++i) replacer.Replace(Output{id, i}, Output{other, i});
    if (kept.contains(id)) continue;
    redundant.push_back(id);
    ++changes;
  }
  SLUICE_RETURN_IF_ERROR(replacer.Apply(graph));
  for (NodeId id : redundant) graph.RemoveNode(id);
  return changes;
}

}  // namespace sluice
