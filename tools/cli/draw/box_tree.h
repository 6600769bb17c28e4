#ifndef SLUICE_TOOLS_CLI_DRAW_BOX_TREE_H_
#define SLUICE_TOOLS_CLI_DRAW_BOX_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "tools/cli/draw/layered_layout.h"

namespace sluice {

// One box of a drawing: a node, a name scope, or a bundle of boxes that would crowd their scope ("Const_* (431)").
struct Box {
  enum class Kind : uint8_t { kScope, kBundle, kNode };

  Kind kind = Kind::kNode;
  std::string label;  // The last part of the name.
  NodeId node;        // Of a kNode.
  int32_t parent = -1;
  int32_t depth = 0;              // Of the root 0.
  std::vector<int32_t> children;  // Boxes inside; empty for a kNode.
  std::vector<NodeId> folded;     // Constants that only this node uses, variables: not drawn, but named.
  int64_t num_nodes = 1;          // Inside, folded ones included.
  bool is_gradient = false;       // All nodes inside compute gradients: see gradient_scope.h. Not of the root.
};

// An edge inside one scope, between two of its children or between a child and the border. Stands for all edges of
// the graph that take this way.
struct BoxEdge {
  int32_t from = -1;  // A child of the scope, or -1: comes in through the upper border.
  int32_t to = -1;    // A child of the scope, or -1: leaves through the lower border.
  int32_t count = 0;
  bool control_only = true;
  bool back_only = true;  // Only back edges of loops (NextIteration to Merge).
  // Children of `from` (of `to`) that the edge starts (ends) at, for its place on the border when that box is open.
  // Ascending.
  std::vector<int32_t> from_inside, to_inside;
};

// Note [Drawing by scopes]
// A drawing shows some boxes open and the others closed. Every scope is laid out for itself: its children, and a port
// on its border for each child that is linked to the outside. The parent sees the open scope as one large box. So
// opening a box moves its ancestors and their children, nothing else, and what has to be drawn is bounded by what is
// open, whatever the size of the graph: a scope has at most `max_children` children, the rest goes into bundles.

// The boxes of a graph, the root first, with the edges inside each. Immutable. Ownership: views nothing, but NodeIds
// refer to the graph it was made from.
class BoxTree {
 public:
  explicit BoxTree(const Graph& graph, int max_children = 100);

  const std::vector<Box>& boxes() const { return boxes_; }
  const Box& box(int32_t i) const { return boxes_[static_cast<size_t>(i)]; }
  // Edges between the children of box `i`, and between them and its border.
  const std::vector<BoxEdge>& edges(int32_t i) const { return edges_[static_cast<size_t>(i)]; }
  // The box that shows `id`: its own, or that of the node it is folded into.
  int32_t box_of(NodeId id) const { return box_of_[static_cast<size_t>(id.value())]; }

 private:
  bool IsFoldedInto(NodeId id, int32_t box) const;
  void AddEdges(const Graph& graph);

  std::vector<Box> boxes_;
  std::vector<std::vector<BoxEdge>> edges_;
  std::vector<int32_t> box_of_;
};

// The inside of one box: its children and ports as items of a layering.
struct ScopeLayering {
  std::vector<int32_t> box_of_item;  // For nodes of the layering: the child it is, or the child whose port it is.
  std::vector<LayerPin> pins;        // kFree for children, kTop and kBottom for ports.
  std::vector<LayoutEdge> edges;     // In the order of BoxTree::edges.
  Layering layering;
};

ScopeLayering LayerScope(const BoxTree& tree, int32_t box);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_BOX_TREE_H_
