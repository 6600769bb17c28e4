#ifndef SLUICE_TOOLS_CLI_DRAW_SVG_DRAWING_H_
#define SLUICE_TOOLS_CLI_DRAW_SVG_DRAWING_H_

#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "tools/cli/draw/box_look.h"

namespace sluice {

struct SvgOptions {
  std::string title;                // Over the drawing: the file's name.
  int box_budget = 120;             // Scopes are opened as long as about this many boxes are seen.
  std::vector<std::string> closed;  // Outermost scopes that are closed at first.
};

// The graph as one SVG document: layered from top to bottom, name scopes as boxes, crowded ones closed, a legend of
// colours. Opens in any browser; needs no fonts, scripts or files.
std::string DrawSvg(const Graph& graph, const SvgOptions& options, OutputTextFn output_text);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_SVG_DRAWING_H_
