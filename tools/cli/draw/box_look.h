#ifndef SLUICE_TOOLS_CLI_DRAW_BOX_LOOK_H_
#define SLUICE_TOOLS_CLI_DRAW_BOX_LOOK_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "graph/ir/graph.h"
#include "tools/cli/draw/box_tree.h"
#include "tools/cli/draw/layered_layout.h"
#include "tools/cli/draw/op_family.h"

namespace sluice {

// Describes a node's first output, for the second line of its box: "float32 [?,10]", or empty.
using OutputTextFn = absl::FunctionRef<std::string(NodeId id)>;

// Texts and size of one closed box. The font is fixed-width, so that texts fit wherever the drawing is shown.
struct BoxLook {
  std::string title;     // Cut in the middle when it is long.
  std::string subtitle;  // Op and shape, or how many nodes are inside.
  std::string weights;   // "filter [3,3,1,8]": trained values folded into the node. Often empty.
  OpFamily family = OpFamily::kOther;
  ItemSize size;
};

inline constexpr double kTitleFontSize = 12, kSubtitleFontSize = 10;

BoxLook LookOf(const Graph& graph, const Box& box, OutputTextFn output_text);

// Lists the weights folded into `box`: the names of their inputs, and their shapes. REQUIRES: a box of a node.
std::string WeightsText(const Graph& graph, const Box& box, OutputTextFn output_text);

// `text` with its middle replaced by an ellipsis when it has more than `max_chars` characters. Characters stay whole.
std::string CutMiddle(absl::string_view text, size_t max_chars);

// Escapes `text` for element content and attributes of XML and HTML; characters unsafe on a terminal are spelled
// ("\\x1b").
std::string EscapeXml(absl::string_view text);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_BOX_LOOK_H_
