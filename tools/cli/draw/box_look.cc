#include "tools/cli/draw/box_look.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "tools/cli/console/number_text.h"

namespace sluice {
namespace {

// Of the usual fixed-width fonts; the widest of them.
constexpr double kCharWidth = 0.61;
constexpr size_t kMaxTitle = 30, kMaxSubtitle = 36;
constexpr double kSidePadding = 12, kMinWidth = 64;

// Characters of UTF-8 text.
size_t CountChars(absl::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

BoxLook LookOf(const Graph& graph, const Box& box, OutputTextFn output_text) {
  BoxLook look;
  look.title = CutMiddle(box.label, kMaxTitle);
  if (box.kind == Box::Kind::kNode) {
    const absl::string_view op = graph.op_name(box.node);
    const std::string output = output_text(box.node);
    look.subtitle = output.empty() ? std::string(op) : absl::StrCat(op, " ", output);
    look.subtitle = CutMiddle(look.subtitle, kMaxSubtitle);
    look.family = OpFamilyOf(op);
    look.weights = WeightsText(graph, box, output_text);
  } else {
    look.subtitle = CountOf(box.num_nodes, "node");
  }
  const double title = static_cast<double>(CountChars(look.title)) * kCharWidth * kTitleFontSize;
  const double subtitle = static_cast<double>(CountChars(look.subtitle)) * kCharWidth * kSubtitleFontSize;
  const double weights = static_cast<double>(CountChars(look.weights)) * kCharWidth * kSubtitleFontSize;
  look.size.width = std::max(kMinWidth, std::max({title, subtitle, weights}) + 2 * kSidePadding);
  look.size.height = look.weights.empty() ? 38 : 51;
  return look;
}

std::string WeightsText(const Graph& graph, const Box& box, OutputTextFn output_text) {
  const auto is_folded = [&box](NodeId id) {
    return std::find(box.folded.begin(), box.folded.end(), id) != box.folded.end();
  };
  const absl::Span<const ArgSpec> args = graph.op(box.node).inputs;
  const bool has_lists = std::any_of(args.begin(), args.end(), [](const ArgSpec& arg) { return arg.is_list(); });
  std::vector<std::string> weights;
  const absl::Span<const Output> inputs = graph.inputs(box.node);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_set() || !is_folded(inputs[i].node)) continue;
    NodeId origin = inputs[i].node;  // Below the reads.
    while (graph.inputs(origin).size() == 1 && is_folded(graph.inputs(origin)[0].node)) {
      origin = graph.inputs(origin)[0].node;
    }
    AttrView attr;
    std::string shape;
    if (graph.Is(origin, "VarHandleOp")) {
      if (graph.FindAttr(origin, "shape", &attr)) shape = attr.ToString();
    } else if (graph.Is(origin, "Const") && IsFloating(graph.output_type(origin, 0))) {
      shape = output_text(origin);
      shape.erase(0, std::min(shape.find('['), shape.size()));
      if (shape == "[]") continue;
    }
    if (shape.empty()) continue;
    weights.push_back(has_lists || i >= args.size() ? shape : absl::StrCat(args[i].name, " ", shape));
  }
  return CutMiddle(absl::StrJoin(weights, ", "), kMaxSubtitle);
}

std::string CutMiddle(absl::string_view text, size_t max_chars) {
  if (CountChars(text) <= max_chars) return std::string(text);
  // In bytes, moved to where characters begin.
  size_t tail = std::min((max_chars - 1) / 2, text.size() / 2), head = std::min(max_chars - 1 - tail, text.size() / 2);
  const auto is_inside = [&text](size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  while (head > 0 && is_inside(head)) --head;
  while (tail > 0 && is_inside(text.size() - tail)) --tail;
  return absl::StrCat(text.substr(0, head), "…", text.substr(text.size() - tail));
}

std::string EscapeXml(absl::string_view text) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n'))
    lines.push_back(PrintableName(line, std::string::npos));
  std::string out;
  out.reserve(text.size());
  for (const char c : absl::StrJoin(lines, "\n")) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace sluice
