// The edges of a BoxTree and the layering of its scopes; box_builder.cc makes the boxes.

#include "tools/cli/draw/box_tree.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/ir/topo_order.h"
#include "tools/cli/draw/box_builder.h"
#include "tools/cli/draw/drawn_graph.h"

namespace sluice {
namespace {

void AddSorted(int32_t value, std::vector<int32_t>* list) {
  const auto place = std::lower_bound(list->begin(), list->end(), value);
  if (place == list->end() || *place != value) list->insert(place, value);
}

enum class EdgeKind : uint8_t { kData, kControl, kBack };

EdgeKind KindOf(const Graph& graph, NodeId id, const Output& source) {
  if (source.is_control()) return EdgeKind::kControl;
  return IsBackEdge(graph, id, source) ? EdgeKind::kBack : EdgeKind::kData;
}

// Gathers edges by scope and ends.
class EdgeTable {
 public:
  EdgeTable(const std::vector<Box>& boxes, std::vector<std::vector<BoxEdge>>* edges)
      : boxes_(boxes), edges_(*edges), index_(boxes.size()) {}

  // Adds the edge between two leaf boxes in every scope it passes.
  void Add(int32_t from, int32_t to, EdgeKind kind) {
    if (from == to) return;
    int32_t from_below = -1, to_below = -1;  // The box inside `from` (`to`) that we came up from.
    while (parent(from) != parent(to)) {
      const bool climb_from = depth(from) >= depth(to);
      const bool climb_to = depth(to) >= depth(from);
      if (climb_from) {
        Count(parent(from), from, -1, kind, from_below, -1);
        from_below = from;
        from = parent(from);
      }
      if (climb_to) {
        Count(parent(to), -1, to, kind, -1, to_below);
        to_below = to;
        to = parent(to);
      }
    }
    if (from != to) Count(parent(from), from, to, kind, from_below, to_below);
  }

 private:
  int32_t parent(int32_t box) const { return boxes_[static_cast<size_t>(box)].parent; }
  int32_t depth(int32_t box) const { return boxes_[static_cast<size_t>(box)].depth; }

  void Count(int32_t scope, int32_t from, int32_t to, EdgeKind kind, int32_t from_inside, int32_t to_inside) {
    auto& edges = edges_[static_cast<size_t>(scope)];
    const auto [entry, is_new] = index_[static_cast<size_t>(scope)].try_emplace({from, to}, edges.size());
    if (is_new) {
      edges.emplace_back();
      edges.back().from = from;
      edges.back().to = to;
    }
    BoxEdge& edge = edges[entry->second];
    ++edge.count;
    edge.control_only = edge.control_only && kind == EdgeKind::kControl;
    edge.back_only = edge.back_only && kind == EdgeKind::kBack;
    if (from_inside >= 0) AddSorted(from_inside, &edge.from_inside);
    if (to_inside >= 0) AddSorted(to_inside, &edge.to_inside);
  }

  const std::vector<Box>& boxes_;
  std::vector<std::vector<BoxEdge>>& edges_;
  std::vector<absl::flat_hash_map<std::pair<int32_t, int32_t>, size_t>> index_;
};

}  // namespace

BoxTree::BoxTree(const Graph& graph, int max_children) {
  BoxBuilder builder(graph, max_children);
  boxes_ = builder.TakeBoxes();
  box_of_ = builder.TakeBoxOf();
  edges_.resize(boxes_.size());
  AddEdges(graph);
}

bool BoxTree::IsFoldedInto(NodeId id, int32_t box) const {
  const std::vector<NodeId>& folded = boxes_[static_cast<size_t>(box)].folded;
  return std::find(folded.begin(), folded.end(), id) != folded.end();
}

void BoxTree::AddEdges(const Graph& graph) {
  EdgeTable table(boxes_, &edges_);
  for (const NodeId id : graph.Nodes()) {
    const bool is_plumbing = IsPlumbing(graph.name(id));
    for (const Output& source : graph.all_inputs(id)) {
      // Edges from all variables to savers would hide the others. A variable is drawn with each node that reads it.
      if (source.is_set() && IsPlumbing(graph.name(source.node)) != is_plumbing) continue;
      if (source.is_set() && box(box_of(id)).kind == Box::Kind::kNode && IsFoldedInto(source.node, box_of(id)))
        continue;
      if (source.is_set()) table.Add(box_of(source.node), box_of(id), KindOf(graph, id, source));
    }
  }
}

ScopeLayering LayerScope(const BoxTree& tree, int32_t box) {
  ScopeLayering out;
  absl::flat_hash_map<int32_t, int32_t> item_of_child;
  for (const int32_t child : tree.box(box).children) {
    item_of_child[child] = static_cast<int32_t>(out.box_of_item.size());
    out.box_of_item.push_back(child);
    out.pins.push_back(LayerPin::kFree);
  }
  const auto port = [&out](int32_t child, LayerPin pin) {
    out.box_of_item.push_back(child);
    out.pins.push_back(pin);
    return static_cast<int32_t>(out.box_of_item.size() - 1);
  };
  for (const BoxEdge& edge : tree.edges(box)) {
    LayoutEdge link;
    link.from = edge.from >= 0 ? item_of_child[edge.from] : port(edge.to, LayerPin::kTop);
    link.to = edge.to >= 0 ? item_of_child[edge.to] : port(edge.from, LayerPin::kBottom);
    link.back = edge.back_only;
    out.edges.push_back(link);
  }
  out.layering = AssignLayers(out.pins, out.edges);
  return out;
}

}  // namespace sluice
