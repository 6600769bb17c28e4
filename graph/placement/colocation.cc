#include "graph/placement/colocation.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/strip.h"
#include "graph/base/hash_table.h"
#include "graph/ir/op_class.h"
#include "graph/placement/memory_types.h"

namespace sluice {
namespace {

constexpr absl::string_view kLocation = "loc:@";

// Whether resources reach `id` from any device.
bool TakesForeignResources(const Graph& graph, NodeId id) {
  const OpClass op_class = graph.op(id).op_class;
  return CallsFunctions(graph, id) || op_class == OpClass::kRetval || IsSend(op_class);
}

}  // namespace

ColocationGroups::ColocationGroups(const Graph& graph) : parents_(static_cast<size_t>(graph.id_limit())) {
  std::iota(parents_.begin(), parents_.end(), 0);
  JoinByClass(graph);
  JoinByEdges(graph);
  // Parents are smaller than their children, so one pass upwards is enough.
  for (int32_t& parent : parents_) parent = parents_[static_cast<size_t>(parent)];
}

int32_t ColocationGroups::FindRoot(int32_t id) {
  while (parents_[static_cast<size_t>(id)] != id) {
    int32_t& parent = parents_[static_cast<size_t>(id)];
    parent = parents_[static_cast<size_t>(parent)];  // Halves the path.
    id = parent;
  }
  return id;
}

void ColocationGroups::Join(NodeId a, NodeId b) {
  const int32_t x = FindRoot(a.value());
  const int32_t y = FindRoot(b.value());
  parents_[static_cast<size_t>(std::max(x, y))] = std::min(x, y);
}

void ColocationGroups::JoinByClass(const Graph& graph) {
  HashMap<absl::string_view, NodeId> dangling;  // First node tied to a name that no node has.
  for (NodeId id : graph.Nodes()) {
    AttrView value;
    if (!graph.FindAttr(id, "_class", &value)) continue;
    const absl::StatusOr<std::vector<absl::string_view>> classes = value.AsStringList();
    if (!classes.ok()) continue;
    for (absl::string_view name : *classes) {
      if (!absl::ConsumePrefix(&name, kLocation)) continue;
      const NodeId other = graph.Find(name);
      Join(id, graph.Contains(other) ? other : dangling.emplace(name, id).first->second);
    }
  }
}

void ColocationGroups::JoinByEdges(const Graph& graph) {
  for (NodeId id : graph.Nodes()) {
    const std::vector<DType>& types = graph.signature(id).inputs;
    const absl::Span<const Output> inputs = graph.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool is_resource = types[i] == DType::kResource;
      if ((!is_resource && !IsRef(types[i])) || !inputs[i].is_set()) continue;
      if (is_resource && TakesForeignResources(graph, id)) continue;
      Join(id, inputs[i].node);
    }
  }
}

}  // namespace sluice
