#include "tools/cli/draw/svg_drawing.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/draw/drawn_graph.h"
#include "tools/cli/draw/scene.h"

namespace sluice {
namespace {

constexpr double kPageHeader = 46, kLegendHeight = 34, kMinWidth = 520;

constexpr absl::string_view kStyle = R"(<style>
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}
.page{fill:#ffffff}.h1{font-size:16px;font-weight:600;fill:#1f2933}.h2{font-size:11px;fill:#6b7785}
.t{font-size:12px;fill:#1f2933;text-anchor:middle}.s{font-size:10px;fill:#6b7785;text-anchor:middle}
.w{font-size:10px;fill:#9a5b00;text-anchor:middle}
.o{font-size:11px;font-weight:600;fill:#52606d;paint-order:stroke;stroke:#f4f6f8;stroke-width:4px}.n{fill:#ffffff;stroke:#c6ced8}
.c{fill:#eef2f7;stroke:#aab6c4}.open{fill:#52606d;fill-opacity:.045;stroke:#aab6c4;stroke-opacity:.8}
.g{fill:#fff1e0;stroke:#dba35f}.og{fill:#f2a03d;fill-opacity:.1;stroke:#dba35f}
.e{fill:none;stroke:#7b8794;stroke-opacity:.75}.ctl{stroke-dasharray:3 3;stroke-opacity:.6}.up{stroke:#d64550}.k{fill:#9aa5b1}
</style>
<defs>
<marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse"
 orient="auto"><path d="M0,0.8L7.2,4L0,7.2z" fill="#7b8794"/></marker>
<marker id="b" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse"
 orient="auto"><path d="M0,0.8L7.2,4L0,7.2z" fill="#d64550"/></marker>
</defs>
)";

// Writes one document. Lives for one call of DrawSvg.
class SvgWriter {
 public:
  SvgWriter(const Graph& graph, const BoxTree& tree, OutputTextFn output_text)
      : graph_(graph), tree_(tree), output_text_(output_text) {}

  const BoxLook& Look(int32_t box) {
    const auto [entry, is_new] = looks_.try_emplace(box);
    if (is_new) entry->second = LookOf(graph_, tree_.box(box), output_text_);
    return entry->second;
  }

  std::string Write(const Scene& scene, absl::string_view title) {
    const double width = std::max(scene.width, kMinWidth);
    const double height = scene.height + kPageHeader + kLegendHeight;
    absl::StrAppendFormat(&out_, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" ", width,
                          height);
    absl::StrAppendFormat(&out_, "viewBox=\"0 0 %.0f %.0f\">\n", width, height);
    absl::StrAppend(&out_, kStyle);
    absl::StrAppend(&out_, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    absl::StrAppendFormat(&out_, "<text class=\"h1\" x=\"16\" y=\"26\">%s</text>\n", EscapeXml(title));
    absl::StrAppendFormat(&out_, "<text class=\"h2\" x=\"16\" y=\"42\">%s nodes</text>\n",
                          CountText(static_cast<int64_t>(graph_.num_nodes())));
    absl::StrAppendFormat(&out_, "<g transform=\"translate(%.1f,%.0f)\">\n", (width - scene.width) / 2, kPageHeader);
    for (const SceneBox& box : scene.boxes) {
      if (box.open && box.box != 0) WriteOpenBox(box);
    }
    for (const SceneEdge& edge : scene.edges) WriteEdge(edge);
    for (const SceneBox& box : scene.boxes) {
      if (!box.open) WriteClosedBox(box);
      if (box.open && box.box != 0) WriteOpenLabel(box);
    }
    absl::StrAppend(&out_, "</g>\n");
    WriteLegend(height - kLegendHeight / 2 + 4);
    absl::StrAppend(&out_, "</svg>\n");
    return std::move(out_);
  }

 private:
  void WriteOpenBox(const SceneBox& box) {
    const bool is_gradient = tree_.box(box.box).is_gradient;
    has_gradients_ = has_gradients_ || is_gradient;
    absl::StrAppendFormat(&out_, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\"/>",
                          is_gradient ? "og" : "open", box.x, box.y, box.width, box.height);
  }

  // Over the edges, which end at the upper border.
  void WriteOpenLabel(const SceneBox& box) {
    const auto room = static_cast<size_t>(std::max(4.0, (box.width - 16) / (11 * 0.61)));
    absl::StrAppendFormat(&out_, "<text class=\"o\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", box.x + 9, box.y + 17,
                          EscapeXml(CutMiddle(tree_.box(box.box).label, room)));
  }

  void WriteEdge(const SceneEdge& edge) {
    const double width = edge.count > 1 ? 1.6 : 1.0;
    absl::StrAppendFormat(&out_, "<path class=\"e%s%s\" stroke-width=\"%.1f\"%s d=\"%s\"/>\n",
                          edge.control_only ? " ctl" : "", edge.is_loop ? " up" : "", width,
                          !edge.has_head ? ""
                          : edge.is_loop ? " marker-end=\"url(#b)\""
                                         : " marker-end=\"url(#a)\"",
                          edge.path);
  }

  void WriteClosedBox(const SceneBox& box) {
    const BoxLook& look = Look(box.box);
    const Box& what = tree_.box(box.box);
    const bool is_node = what.kind == Box::Kind::kNode;
    absl::StrAppend(&out_, "<g><title>", EscapeXml(Tooltip(what)), "</title>");
    has_gradients_ = has_gradients_ || what.is_gradient;
    const absl::string_view style = what.is_gradient ? "g" : is_node ? "n" : "c";
    if (!is_node) {  // The edge of a second card behind it says that there is more inside.
      absl::StrAppendFormat(&out_, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\"/>",
                            style, box.x + 3, box.y + 3, box.width, box.height);
    }
    absl::StrAppendFormat(&out_, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\"/>",
                          style, box.x, box.y, box.width, box.height);
    if (is_node) {
      absl::StrAppendFormat(&out_, "<rect fill=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"4\" height=\"%.1f\" rx=\"2\"/>",
                            OpFamilyColor(look.family), box.x + 3, box.y + 5, box.height - 10);
      used_[static_cast<size_t>(look.family)] = true;
      for (size_t i = 0; i < std::min<size_t>(what.folded.size(), 4); ++i) {  // A dot for each folded constant.
        absl::StrAppendFormat(&out_, "<circle class=\"k\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>",
                              box.x + box.width - 8 - 6 * static_cast<double>(i), box.y + 7);
      }
    }
    absl::StrAppendFormat(&out_, "<text class=\"t\" x=\"%.1f\" y=\"%.1f\">%s</text>", box.center() + 2, box.y + 16,
                          EscapeXml(look.title));
    absl::StrAppendFormat(&out_, "<text class=\"s\" x=\"%.1f\" y=\"%.1f\">%s</text></g>\n", box.center() + 2,
                          box.y + 30, EscapeXml(look.subtitle));
    if (look.weights.empty()) return;
    absl::StrAppendFormat(&out_, "<text class=\"w\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", box.center() + 2, box.y + 43,
                          EscapeXml(look.weights));
  }

  std::string Tooltip(const Box& box) const {
    if (box.kind != Box::Kind::kNode) return absl::StrCat(box.label, ": ", CountOf(box.num_nodes, "node"));
    std::string text = absl::StrCat(ShownName(graph_.name(box.node)), "\n", graph_.op_name(box.node));
    for (const NodeId constant : box.folded)
      absl::StrAppend(&text, "\n", graph_.Is(constant, "Const") ? "constant " : "", ShownName(graph_.name(constant)));
    return text;
  }

  void WriteLegend(double y) {
    double x = 16;
    for (size_t i = 0; i < used_.size(); ++i) {
      if (!used_[i]) continue;
      const absl::string_view name = OpFamilyName(static_cast<OpFamily>(i));
      absl::StrAppendFormat(&out_, "<rect x=\"%.0f\" y=\"%.0f\" width=\"10\" height=\"10\" rx=\"2\" fill=\"%s\"/>", x,
                            y - 9, OpFamilyColor(static_cast<OpFamily>(i)));
      absl::StrAppendFormat(&out_, "<text class=\"h2\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", x + 14, y, name);
      x += 30 + static_cast<double>(name.size()) * 6.7;
    }
    if (!has_gradients_) return;
    for (const bool is_gradient : {false, true}) {
      absl::StrAppendFormat(&out_, "<rect class=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"10\" rx=\"2\"/>",
                            is_gradient ? "g" : "n", x, y - 9);
      absl::StrAppendFormat(&out_, "<text class=\"h2\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", x + 18, y,
                            is_gradient ? "gradients" : "forward");
      x += 34 + 9 * 6.7;
    }
  }

  const Graph& graph_;
  const BoxTree& tree_;
  OutputTextFn output_text_;
  absl::flat_hash_map<int32_t, BoxLook> looks_;
  std::array<bool, kNumOpFamilies> used_ = {};
  bool has_gradients_ = false;  // Among the boxes that are drawn.
  std::string out_;
};

}  // namespace

std::string DrawSvg(const Graph& graph, const SvgOptions& options, OutputTextFn output_text) {
  const BoxTree tree(graph);
  SvgWriter writer(graph, tree, output_text);
  const std::vector<bool> open = ChooseOpenBoxes(tree, options.box_budget, options.closed);
  const Scene scene = BuildScene(tree, open, [&tree, &writer](const Box& box) {
    return writer.Look(static_cast<int32_t>(&box - tree.boxes().data())).size;
  });
  return writer.Write(scene, options.title);
}

}  // namespace sluice
