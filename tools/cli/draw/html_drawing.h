#ifndef SLUICE_TOOLS_CLI_DRAW_HTML_DRAWING_H_
#define SLUICE_TOOLS_CLI_DRAW_HTML_DRAWING_H_

#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "tools/cli/draw/box_look.h"

namespace sluice {

struct HtmlOptions {
  std::string title;                // The file's name.
  int box_budget = 40;              // Scopes are open at first as long as about this many boxes are seen.
  size_t max_attr_chars = 160;      // Attr values are cut beyond this.
  std::vector<std::string> closed;  // Outermost scopes that are closed at first.
};

// The graph as one HTML page without any reference to the outside: scopes open on click, search, pan and zoom, details
// of nodes. Layers and orders of every scope are in the page, so that it only computes coordinates of what is open:
// it stays quick with 100,000 nodes, because no scope shows more than 100 boxes.
std::string DrawHtml(const Graph& graph, const HtmlOptions& options, OutputTextFn output_text);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_HTML_DRAWING_H_
