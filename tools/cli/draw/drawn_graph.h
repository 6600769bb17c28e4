#ifndef SLUICE_TOOLS_CLI_DRAW_DRAWN_GRAPH_H_
#define SLUICE_TOOLS_CLI_DRAW_DRAWN_GRAPH_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/load/load_graph.h"
#include "graph/shapes/shape_map.h"

namespace sluice {

// The scope that holds what a model is not used with: the nodes that save, restore and initialise. Not a name that a
// node can have.
inline constexpr absl::string_view kPlumbingScope = "(save, restore, init)";

// Whether a node of this name stands in that scope.
bool IsPlumbing(absl::string_view node);

// A model's graph in the form in which it is drawn. Never run or written.
struct DrawnGraph {
  Graph graph;
  std::optional<ShapeMap> shapes;  // Of `graph`, as far as they can be inferred.
};

// The graph of `model` with the bodies of functions in the place of their calls, as scopes: a call is replaced by its
// body, which is called as the signature that it computes, else as its function or node; If, Case and While stay, with
// their branches beside them. Nodes that no signature needs, or where there is none those that belong to savers, are
// moved into kPlumbingScope, and calls there stay closed. What cannot be expanded, and what would make the drawing
// larger than about 200,000 nodes, stays a node.
DrawnGraph ExpandForDrawing(const LoadedGraph& model);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_DRAWN_GRAPH_H_
