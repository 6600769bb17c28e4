#include "graph/ir/made_nodes.h"

#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

constexpr absl::string_view kAttr = "_made_for";
// See FusedMarks: "OP INDEX", where the index is that of the node in its file or -1; and the name of a tensor.
constexpr absl::string_view kFirstAttr = "_fused_first";
constexpr absl::string_view kGivesAttr = "_fused_gives";

absl::string_view TextOf(const Graph& graph, NodeId id, absl::string_view attr) {
  AttrView value;
  return graph.FindAttr(id, attr, &value) ? value.AsString().value_or("") : "";
}

// The name of `output`, without regard to its node's mark.
std::string OwnName(const Graph& graph, const Output& output) {
  const bool is_first = output.is_set() && output.index == 0 && graph.Contains(output.node);
  const absl::string_view given = is_first ? TextOf(graph, output.node, kGivesAttr) : "";
  return given.empty() ? graph.OutputName(output) : std::string(given);
}

// The mark of `id`, which reads "OP NAME" or "OP NAME SLOT"; returns false if it has none, or a malformed one.
bool ReadMark(const Graph& graph, NodeId id, MadeFor* made_for) {
  AttrView value;
  if (!graph.FindAttr(id, kAttr, &value)) return false;
  const absl::StatusOr<absl::string_view> text = value.AsString();
  if (!text.ok()) return false;
  const size_t op_end = text->find(' ');
  if (op_end == absl::string_view::npos || op_end == 0) return false;
  absl::string_view name = text->substr(op_end + 1);
  const size_t name_end = name.find(' ');
  int32_t slot = MadeFor::kPassesOn;
  if (name_end != absl::string_view::npos && !absl::SimpleAtoi(name.substr(name_end + 1), &slot)) return false;
  name = name.substr(0, name_end);
  if (name.empty()) return false;
  *made_for = {std::string(text->substr(0, op_end)), std::string(name), slot};
  return true;
}

}  // namespace

std::pair<std::string, AttrValue> MadeForAttr(const MadeFor& made_for) {
  std::string text = absl::StrCat(made_for.op, " ", made_for.name);
  if (made_for.slot != MadeFor::kPassesOn) absl::StrAppend(&text, " ", made_for.slot);
  return {std::string(kAttr), AttrValue(text)};
}

MadeFor MadeForOf(const Graph& graph, NodeId id) {
  MadeFor made_for;
  if (ReadMark(graph, id, &made_for)) return made_for;
  return {std::string(graph.op_name(id)), std::string(graph.name(id)), MadeFor::kPassesOn};
}

std::pair<std::string, AttrValue> MadeForAttr(const Graph& graph, NodeId id, int32_t slot) {
  MadeFor made_for = MadeForOf(graph, id);
  made_for.slot = slot;
  return MadeForAttr(made_for);
}

std::vector<std::pair<std::string, AttrValue>> FusedMarks(const Graph& graph, NodeId first, NodeId last) {
  std::vector<std::pair<std::string, AttrValue>> marks = {
      {std::string(kFirstAttr), AttrValue(absl::StrCat(graph.op_name(first), " ", graph.source_index(first)))},
      {std::string(kGivesAttr), AttrValue(UserOutputName(graph, Output{last, 0}))}};
  const absl::string_view mark = TextOf(graph, first, kAttr);
  if (!mark.empty()) marks.emplace_back(std::string(kAttr), AttrValue(std::string(mark)));
  return marks;
}

std::string UserOutputName(const Graph& graph, const Output& output) {
  Output at = output;
  MadeFor made_for;
  // As many steps as there are nodes at most: a mark may lie, and then the way may go round.
  for (size_t steps = 0; steps <= graph.num_nodes(); ++steps) {
    if (!at.is_set() || !graph.Contains(at.node) || !ReadMark(graph, at.node, &made_for)) return OwnName(graph, at);
    if (!TextOf(graph, at.node, kGivesAttr).empty()) return OwnName(graph, at);
    if (made_for.slot >= 0) {
      return made_for.slot == 0 ? made_for.name : absl::StrCat(made_for.name, ":", made_for.slot);
    }
    if (graph.inputs(at.node).empty()) return made_for.name;
    at = graph.inputs(at.node)[0];
  }
  return graph.OutputName(output);
}

absl::Status Graph::Locate(NodeId id, const absl::Status& status) const {
  if (status.ok()) return status;
  MadeFor made_for;
  if (!ReadMark(*this, id, &made_for)) {
    const Record& record = rec(id);
    int64_t index = record.source_index;
    absl::string_view op = op_name(id);
    const std::pair<absl::string_view, absl::string_view> first =
        absl::StrSplit(TextOf(*this, id, kFirstAttr), absl::MaxSplits(' ', 1));
    if (!first.first.empty() && absl::SimpleAtoi(first.second, &index)) op = first.first;
    const absl::Status named = WithNode(status, name(id), op);
    const absl::string_view bytes(record.source, record.source_size);
    for (const std::shared_ptr<const SourceFile>& file : source_files_) {
      if (file->Holds(bytes)) return file->Locate(named, index, bytes);
    }
    return named;
  }
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value()) return WithNode(status, made_for.name, made_for.op);
  if (!info->node.empty() && info->node != name(id)) return status;
  // The made node's inputs and attrs are not those of the user's node: an input is known by its name only.
  info->node = made_for.name;
  info->op = made_for.op;
  info->input = -1;
  if (info->input_name == info->node) info->input_name.clear();
  info->attr.clear();
  return MakeError(*info);
}

}  // namespace sluice
