#include "tools/cli/draw/html_drawing.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/draw/drawn_graph.h"
#include "tools/cli/draw/json_text.h"
#include "tools/cli/draw/op_family.h"
#include "tools/cli/draw/scene.h"
#include "tools/cli/draw/viewer_css.h"
#include "tools/cli/draw/viewer_js.h"

namespace sluice {
namespace {

// Numbers for texts, in order of first use; 0 is the empty text.
class TextTable {
 public:
  TextTable() { Number(""); }
  size_t Number(std::string text) {
    const auto [entry, is_new] = index_.try_emplace(std::move(text), order_.size());
    if (is_new) order_.push_back(entry->first);
    return entry->second;
  }
  const std::vector<std::string>& order() const { return order_; }

 private:
  absl::flat_hash_map<std::string, size_t> index_;
  std::vector<std::string> order_;
};

template <typename List>
std::string NumberList(const List& list) {
  return absl::StrCat("[", absl::StrJoin(list, ","), "]");
}

std::string TextList(const std::vector<std::string>& list) {
  return absl::StrCat(
      "[", absl::StrJoin(list, ",", [](std::string* out, const std::string& text) { AppendJsonText(text, out); }), "]");
}

// Writes the object that viewer.js calls DATA. Lives for one call of DrawHtml.
class DataWriter {
 public:
  DataWriter(const Graph& graph, const BoxTree& tree, const HtmlOptions& options, OutputTextFn output_text)
      : graph_(graph), tree_(tree), options_(options), output_text_(output_text) {}

  std::string Write() {
    absl::StrAppend(&out_, "{");
    WriteInputs();
    WriteBoxes();
    WriteScopes();
    std::vector<int> open;
    const std::vector<bool> is_open = ChooseOpenBoxes(tree_, options_.box_budget, options_.closed);
    for (size_t i = 0; i < is_open.size(); ++i) {
      if (is_open[i]) open.push_back(static_cast<int>(i));
    }
    absl::StrAppend(&out_, "\"open\":", NumberList(open), ",\n");
    std::vector<int32_t> closed;
    for (const int32_t box : tree_.box(0).children) {
      if (IsKeptClosed(tree_.box(box), options_.closed)) closed.push_back(box);
    }
    absl::StrAppend(&out_, "\"closed\":", NumberList(closed), ",\n");
    absl::StrAppend(&out_, "\"ops\":", TextList(ops_.order()), ",\n\"familyOfOp\":[");
    for (const std::string& op : ops_.order()) {
      absl::StrAppend(&out_, static_cast<int>(OpFamilyOf(op)), ",");
    }
    absl::StrAppend(&out_, "0],\n\"families\":[");
    for (int i = 0; i < kNumOpFamilies; ++i) {
      const OpFamily family = static_cast<OpFamily>(i);
      absl::StrAppend(&out_, i > 0 ? "," : "", "[\"", OpFamilyName(family), "\",\"", OpFamilyColor(family), "\"]");
    }
    absl::StrAppend(&out_, "],\n\"texts\":", TextList(texts_.order()), "}");
    return std::move(out_);
  }

 private:
  // "inputs": by box, [source box or -1 - number of a folded node, slot]; "folded": [name, text, op]; "inside": by box,
  // the folded nodes in it.
  void WriteInputs() {
    const absl::flat_hash_map<int32_t, int> number_of_folded = WriteFolded();
    absl::StrAppend(&out_, "\"inputs\":{");
    bool first = true;
    for (size_t b = 0; b < tree_.boxes().size(); ++b) {
      const Box& box = tree_.boxes()[b];
      if (box.kind != Box::Kind::kNode) continue;
      std::vector<std::string> inputs;
      for (const Output& source : graph_.all_inputs(box.node)) {
        if (!source.is_set()) continue;
        const auto number = number_of_folded.find(source.node.value());
        const int at = number == number_of_folded.end() ? tree_.box_of(source.node) : -1 - number->second;
        inputs.push_back(absl::StrCat("[", at, ",", source.index, "]"));
      }
      if (inputs.empty()) continue;
      absl::StrAppend(&out_, first ? "" : ",", "\"", b, "\":[", absl::StrJoin(inputs, ","), "]");
      first = false;
    }
    absl::StrAppend(&out_, "},\n");
  }

  // The numbers of folded nodes, by node id: one each, even for a variable in several boxes.
  absl::flat_hash_map<int32_t, int> WriteFolded() {
    absl::flat_hash_map<int32_t, int> number_of_folded;
    std::string folded, inside;
    for (size_t b = 0; b < tree_.boxes().size(); ++b) {
      std::vector<int> numbers;
      for (const NodeId id : tree_.boxes()[b].folded) {
        const auto [number, is_new] = number_of_folded.try_emplace(id.value(), number_of_folded.size());
        numbers.push_back(number->second);
        if (!is_new) continue;
        absl::StrAppend(&folded, folded.empty() ? "[" : ",[");
        AppendJsonText(ShownName(graph_.name(id)), &folded);
        absl::StrAppend(&folded, ",", texts_.Number(FoldedText(id)), ",");
        absl::StrAppend(&folded, ops_.Number(std::string(graph_.op_name(id))), "]");
      }
      if (!numbers.empty()) absl::StrAppend(&inside, inside.empty() ? "" : ",", "\"", b, "\":", NumberList(numbers));
    }
    absl::StrAppend(&out_, "\"folded\":[", folded, "],\n\"inside\":{", inside, "},\n");
    return number_of_folded;
  }

  // Describes a folded node; for a read, names its variable.
  std::string FoldedText(NodeId id) const {
    if (graph_.inputs(id).empty() || !graph_.inputs(id)[0].is_set()) return ConstantText(id);
    const NodeId origin = graph_.inputs(id)[0].node;
    return absl::StrCat("of ", ShownName(graph_.name(origin)), " ", ConstantText(origin));
  }

  std::string ConstantText(NodeId id) const {
    AttrView value, shape;
    if (graph_.FindAttr(id, "value", &value)) return Cut(value.ToString());
    if (!graph_.Is(id, "VarHandleOp") || !graph_.FindAttr(id, "dtype", &value) || !graph_.FindAttr(id, "shape", &shape))
      return "";
    return absl::StrCat(value.ToString(), " ", shape.ToString());
  }

  std::string Cut(std::string text) const {
    if (text.size() <= options_.max_attr_chars) return text;
    text.resize(options_.max_attr_chars);
    return text + "…";
  }

  std::string AttrsText(NodeId id) const {
    std::vector<std::string> lines;
    for (const NamedAttr& attr : graph_.attrs(id)) {
      lines.push_back(absl::StrCat(attr.name, "=", Cut(attr.value.ToString())));
    }
    return absl::StrJoin(lines, "\n");
  }

  std::string OutputsText(NodeId id) const {
    std::vector<std::string> parts;
    for (int32_t i = 0; i < graph_.num_outputs(id); ++i) parts.push_back(DTypeName(graph_.output_type(id, i)));
    const std::string first = output_text_(id);
    if (parts.size() == 1 && !first.empty()) return first;
    return absl::StrJoin(parts, ", ");
  }

  // "boxes": parallel arrays.
  void WriteBoxes() {
    std::vector<int> kind, parent, gradient;
    std::vector<size_t> folded;
    std::vector<int64_t> count;
    std::vector<std::string> label;
    std::vector<size_t> op, out, outs, attrs, device, weights;
    for (const Box& box : tree_.boxes()) {
      const bool is_node = box.kind == Box::Kind::kNode;
      kind.push_back(static_cast<int>(box.kind));
      parent.push_back(box.parent);
      gradient.push_back(box.is_gradient ? 1 : 0);
      folded.push_back(box.folded.size());
      count.push_back(box.num_nodes);
      label.push_back(box.label);
      op.push_back(is_node ? ops_.Number(std::string(graph_.op_name(box.node))) : 0);
      out.push_back(is_node ? texts_.Number(output_text_(box.node)) : 0);
      outs.push_back(is_node ? texts_.Number(OutputsText(box.node)) : 0);
      attrs.push_back(is_node ? texts_.Number(AttrsText(box.node)) : 0);
      weights.push_back(is_node ? texts_.Number(WeightsText(graph_, box, output_text_)) : 0);
      device.push_back(is_node ? texts_.Number(std::string(graph_.device(box.node))) : 0);
    }
    absl::StrAppend(&out_, "\"boxes\":{\"kind\":", NumberList(kind), ",\n\"parent\":", NumberList(parent));
    absl::StrAppend(&out_, ",\n\"gradient\":", NumberList(gradient));
    absl::StrAppend(&out_, ",\n\"count\":", NumberList(count), ",\n\"label\":", TextList(label));
    absl::StrAppend(&out_, ",\n\"op\":", NumberList(op), ",\n\"out\":", NumberList(out), ",\n\"outs\":");
    absl::StrAppend(&out_, NumberList(outs), ",\n\"folded\":", NumberList(folded), ",\n\"attrs\":", NumberList(attrs),
                    ",\n\"weights\":", NumberList(weights), ",\n\"device\":");
    absl::StrAppend(&out_, NumberList(device), "},\n");
  }

  // "scopes": by box, items (a box, or the box whose port it is), pins (1 upper, 2 lower border), layers, and edges
  // [from item, to item, count, flags (1 control, 2 leads up, 4 a loop's), points, from inside, to inside].
  void WriteScopes() {
    absl::StrAppend(&out_, "\"scopes\":{");
    bool first = true;
    for (size_t b = 0; b < tree_.boxes().size(); ++b) {
      if (tree_.boxes()[b].kind == Box::Kind::kNode) continue;
      absl::StrAppend(&out_, first ? "" : ",\n", "\"", b, "\":");
      WriteScope(static_cast<int32_t>(b));
      first = false;
    }
    absl::StrAppend(&out_, "},\n");
  }

  void WriteScope(int32_t box) {
    const ScopeLayering scope = LayerScope(tree_, box);
    absl::StrAppend(&out_, "{\"items\":", NumberList(scope.box_of_item), ",\"pins\":[");
    for (size_t i = 0; i < scope.pins.size(); ++i) {
      absl::StrAppend(&out_, i > 0 ? "," : "", static_cast<int>(scope.pins[i]));
    }
    absl::StrAppend(&out_, "],\"layers\":[");
    for (size_t i = 0; i < scope.layering.layers.size(); ++i) {
      absl::StrAppend(&out_, i > 0 ? "," : "", NumberList(scope.layering.layers[i]));
    }
    absl::StrAppend(&out_, "],\"edges\":[");
    const std::vector<BoxEdge>& edges = tree_.edges(box);
    for (size_t i = 0; i < edges.size(); ++i) {
      const EdgeRoute& route = scope.layering.routes[i];
      const int flags = (edges[i].control_only ? 1 : 0) | (route.reversed ? 2 : 0) | (edges[i].back_only ? 4 : 0);
      absl::StrAppend(&out_, i > 0 ? "," : "", "[", scope.edges[i].from, ",", scope.edges[i].to, ",");
      absl::StrAppend(&out_, edges[i].count, ",", flags, ",", NumberList(route.points), ",");
      absl::StrAppend(&out_, NumberList(edges[i].from_inside), ",", NumberList(edges[i].to_inside), "]");
    }
    absl::StrAppend(&out_, "]}");
  }

  const Graph& graph_;
  const BoxTree& tree_;
  const HtmlOptions& options_;
  OutputTextFn output_text_;
  TextTable texts_, ops_;
  std::string out_;
};

constexpr absl::string_view kBody =
    R"html(<header><h1>TITLE</h1><span class="dim">COUNT nodes</span><span class="space"></span>
<input id="search" type="search" placeholder="search names and ops  ( / )" autocomplete="off" spellcheck="false">
<button id="fit" title="f">Fit</button><button id="close">Start view</button></header>
<main><svg id="canvas"><defs>MARKERS</defs><g id="scene"></g></svg><ul id="hits" hidden></ul><div id="legend"></div></main>
<aside id="details"></aside>
)html";

// Arrow heads; a marker cannot take the colour of its line.
std::string Markers() {
  std::string out;
  for (const absl::string_view name : {"edge", "up", "lit"}) {
    absl::StrAppend(&out, "<marker id=\"m-", name, "\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\"");
    absl::StrAppend(&out, " markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">");
    const absl::string_view color = name == "lit" ? "mark" : name;
    absl::StrAppend(&out, "<path d=\"M0,0.8L7.2,4L0,7.2z\" style=\"fill:var(--", color, ")\"/></marker>");
  }
  return out;
}

void ReplaceOnce(absl::string_view what, absl::string_view by, std::string* text) {
  const size_t at = text->find(what.data(), 0, what.size());
  if (at != std::string::npos) text->replace(at, what.size(), by.data(), by.size());
}

}  // namespace

std::string DrawHtml(const Graph& graph, const HtmlOptions& options, OutputTextFn output_text) {
  const BoxTree tree(graph);
  std::string body(kBody);
  ReplaceOnce("MARKERS", Markers(), &body);
  ReplaceOnce("COUNT", CountText(static_cast<int64_t>(graph.num_nodes())), &body);
  ReplaceOnce("TITLE", EscapeXml(options.title), &body);
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n";
  absl::StrAppend(&page, "<meta name=\"viewport\" content=\"width=device-width\">\n<title>", EscapeXml(options.title));
  absl::StrAppend(&page, "</title>\n<style>\n", ViewerCss(), "</style></head>\n<body>\n", body);
  absl::StrAppend(&page, "<script>\nconst DATA = ", DataWriter(graph, tree, options, output_text).Write(), ";\n");
  absl::StrAppend(&page, ViewerJs(), "</script>\n</body></html>\n");
  return page;
}

}  // namespace sluice
