#ifndef SLUICE_TOOLS_CLI_DRAW_DRAWN_GRAPH_H_
#define SLUICE_TOOLS_CLI_DRAW_DRAWN_GRAPH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/load/load_graph.h"
#include "graph/shapes/shape_map.h"

namespace sluice {

// Nodes that a model is not used with stand in scopes of their own in a drawing: savers and initialisers, or, where
// there are signatures, all that none of them needs. No file names a node so: names that begin with '_' are internal.
inline constexpr absl::string_view kSaverScope = "_savers";
inline constexpr absl::string_view kUnsignedScope = "_not_in_a_signature";
// Nodes without any edge, where there are others.
inline constexpr absl::string_view kUnusedScope = "_unused";

// Whether a node of this name stands in one of these scopes.
bool IsPlumbing(absl::string_view node);

// The name that people read: "_savers/save/RestoreV2" is "(save, restore, init)/save/RestoreV2". Others stay.
std::string ShownName(absl::string_view name);

// A model's graph in the form in which it is drawn. Never run or written.
struct DrawnGraph {
  Graph graph;
  std::optional<ShapeMap> shapes;  // Of `graph`, as far as they can be inferred.
  // What need not be open in a first view, by ShownName: scopes of plumbing, and signatures that compute what another
  // one computes, too.
  std::vector<std::string> closed;
};

// The graph of `model` with the bodies of functions in the place of their calls, as scopes: a call is replaced by its
// body, which is called as the signature that it computes, else as its function or node; If, Case and While stay, with
// their branches beside them. Nodes that no signature needs, or where there is none those that belong to savers, are
// moved into kUnsignedScope or kSaverScope, and calls there stay closed. What TensorFlow leaves over where it inlines
// calls itself (frozen graphs of TensorFlow 2) is left out. What cannot be expanded, and what would make
// the drawing larger than about 200,000 nodes, stays a node.
DrawnGraph ExpandForDrawing(const LoadedGraph& model);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_DRAWN_GRAPH_H_
