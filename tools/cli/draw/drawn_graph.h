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

// Scopes of a drawing for nodes that users of the model do not need: savers and initialisers, or, with signatures, all
// that none of them needs. No file has such names: those that begin with '_' are internal.
inline constexpr absl::string_view kSaverScope = "_savers";
inline constexpr absl::string_view kUnsignedScope = "_not_in_a_signature";
// Nodes without any edge, if there are others.
inline constexpr absl::string_view kUnusedScope = "_unused";

// Whether a node of this name is in one of these scopes.
bool IsPlumbing(absl::string_view node);

// The name that people read: "_savers/save/RestoreV2" is "(save, restore, init)/save/RestoreV2". Others stay.
std::string ShownName(absl::string_view name);

// A model's graph in the form in which it is drawn. Never run or written.
struct DrawnGraph {
  Graph graph;
  std::optional<ShapeMap> shapes;  // Of `graph`, as far as they can be inferred.
  // Scopes closed at first, by ShownName: plumbing, and signatures that compute the same as another one.
  std::vector<std::string> closed;
};

// The graph of `model` with the bodies of functions in the place of their calls, as scopes: a call is replaced by its
// body, which is called as the signature that it computes, else as its function or node; If, Case and While stay, with
// their branches beside them. Nodes that no signature needs (without signatures, those of savers) are moved into
// kUnsignedScope or kSaverScope, and calls there stay closed. Leftovers of TensorFlow's own inlining (frozen graphs of
// TensorFlow 2) are left out. Calls that cannot be expanded, or would make the drawing larger than about 200,000 nodes,
// stay nodes.
DrawnGraph ExpandForDrawing(const LoadedGraph& model);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_DRAWN_GRAPH_H_
