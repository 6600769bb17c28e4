#ifndef SLUICE_TOOLS_CLI_DRAW_SCENE_H_
#define SLUICE_TOOLS_CLI_DRAW_SCENE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "tools/cli/draw/box_tree.h"
#include "tools/cli/draw/layered_layout.h"

namespace sluice {

// One box to draw, in absolute coordinates. Parents come before their children.
struct SceneBox {
  int32_t box = 0;  // In the tree.
  bool open = false;
  double x = 0, y = 0, width = 0, height = 0;  // x, y: the upper left corner.

  double center() const { return x + width / 2; }
  double bottom() const { return y + height; }
};

// One edge to draw.
struct SceneEdge {
  std::string path;   // SVG path data.
  int32_t count = 1;  // Edges of the graph that it stands for.
  bool control_only = false;
  bool reversed = false;  // Leads up.
  bool is_loop = false;   // A back edge of a loop. Others may lead up as well, where scopes read from each other.
  bool has_head = true;   // Ends at a box; false at a port on the border, where another part continues.
};

// A drawing with some boxes open, ready to be rendered.
struct Scene {
  std::vector<SceneBox> boxes;
  std::vector<SceneEdge> edges;
  double width = 0;
  double height = 0;
};

// Room around the inside of an open box, and for its label on top. Where edges come in through the border, their gap is
// room enough.
inline constexpr double kScenePadding = 16;
inline constexpr double kSceneHeader = 26;

// Lays out `tree` with the boxes in `open` (by index; ancestors of an open box must be open) open. `size_of` says how
// large a closed box is.
Scene BuildScene(const BoxTree& tree, const std::vector<bool>& open,
                 absl::FunctionRef<ItemSize(const Box& box)> size_of);

// Whether `box` is an outermost scope that is called as one of `closed`.
bool IsKeptClosed(const Box& box, absl::Span<const std::string> closed);

// Which boxes to open so that about `budget` boxes are seen: from the root down, small ones first within a depth. The
// outermost scopes called as in `closed` stay closed.
std::vector<bool> ChooseOpenBoxes(const BoxTree& tree, int budget, absl::Span<const std::string> closed = {});

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_SCENE_H_
