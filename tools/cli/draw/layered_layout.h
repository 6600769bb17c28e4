#ifndef SLUICE_TOOLS_CLI_DRAW_LAYERED_LAYOUT_H_
#define SLUICE_TOOLS_CLI_DRAW_LAYERED_LAYOUT_H_

// A layered drawing of a directed graph: sources on top, edges lead down, few crossings, boxes of any size.
//
// Note [Layered layout]
// Four steps, each a function of its own. (1) Edges that close a cycle are turned round: those marked `back`, then
// those that lead to a node with a lower number. (2) A node's layer is the longest path that leads to it; nodes nothing
// leads to then move down to just above their first user. (3) An edge over several layers becomes a chain of points,
// one a layer, and each layer is ordered by the mean position of its neighbours above, then below, to and fro; the
// order with the fewest crossings is kept. (4) Given the sizes, x is the position nearest (least squares) to the
// neighbours' mean that keeps order and gaps. Steps 1 to 3 (`AssignLayers`) do not depend on sizes: the viewer in the
// HTML file does only step 4 again.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace sluice {

// Fixes a node's layer, whatever its edges: ports of a scope lie on its upper or lower border.
enum class LayerPin : uint8_t { kFree, kTop, kBottom };

struct LayoutEdge {
  int32_t from = 0;
  int32_t to = 0;
  bool back = false;  // Closes a loop: turned round first, if need be.
};

// The path of one edge: the points it passes, in the direction of the edge, its ends not included.
struct EdgeRoute {
  bool reversed = false;  // Leads up: it was turned round to break a cycle.
  std::vector<int32_t> points;
};

// Layers from top to bottom, each an order from left to right. Items below `num_nodes` are nodes, the others points.
struct Layering {
  int32_t num_nodes = 0;
  int32_t num_items = 0;
  std::vector<std::vector<int32_t>> layers;
  std::vector<EdgeRoute> routes;  // One for each edge given.
};

// Steps 1 to 3. `pins` has one entry per node. Self edges get no points. Linear but for sorting within layers; above
// `max_points` points in all, further long edges get none and are drawn straight.
Layering AssignLayers(absl::Span<const LayerPin> pins, absl::Span<const LayoutEdge> edges, int32_t max_points = 4000);

// How many pairs of edges cross in `layering`.
int64_t CountCrossings(const Layering& layering, absl::Span<const LayoutEdge> edges);

struct ItemSize {
  double width = 0;
  double height = 0;
};

struct LayoutGaps {
  double horizontal = 24;
  double vertical = 36;
  double point = 10;  // Between an edge's point and its neighbour.
};

// Centres of all items, points included, and the extent of the drawing, whose upper left corner is (0, 0). An item that
// is much less high than others of its layer is near the layer's top.
struct Placement2D {
  std::vector<double> x, y;
  std::vector<double> layer_top, layer_bottom;
  double width = 0;
  double height = 0;
};

// Step 4. `sizes` has one entry per node; points have no size.
Placement2D PlaceItems(const Layering& layering, absl::Span<const LayoutEdge> edges, absl::Span<const ItemSize> sizes,
                       const LayoutGaps& gaps);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_LAYERED_LAYOUT_H_
