// Third pass of the import: inputs become edges. See Note [Import].

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/graph_importer.h"

namespace sluice {

absl::Status GraphImporter::LinkInputs() {
  texts_end_ = static_cast<uint32_t>(graph_.inputs_.size());
  const uint32_t begin = first_new_ < graph_.id_limit() ? graph_.rec(NodeId(first_new_)).first_input : texts_end_;
  for (uint32_t i = begin; i < std::min(begin + kInputsAhead, texts_end_); ++i) ReadInputAhead(i);
  for (int32_t i = first_new_; i < graph_.id_limit() && !errors_.full(); ++i) {
    SLUICE_RETURN_IF_ERROR(PollStop(options_.stop));
    if (options_.tolerated != nullptr) {
      LinkTolerantly(NodeId(i));
      continue;
    }
    const absl::Status status = LinkNode(NodeId(i));
    if (!status.ok()) errors_.Add(PlaceOf(NodeId(i), status));
  }
  return absl::OkStatus();
}

absl::string_view GraphImporter::Text(Output stored) const {
  return source_.bytes.substr(static_cast<size_t>(stored.node.value()), static_cast<size_t>(stored.index));
}

void GraphImporter::ReadInputAhead(uint32_t position) {
  ReadInput& input = ahead_[position % kInputsAhead];
  input.position = position;
  input.id = ParseTensorId(Text(graph_.inputs_[position]));
  input.hash = NameTable::Hash(input.id.node);
  graph_.names_.Prefetch(input.hash);
}

const GraphImporter::ReadInput& GraphImporter::InputAt(uint32_t position) {
  const ReadInput& input = ahead_[position % kInputsAhead];
  if (input.position != position) ReadInputAhead(position);
  return input;
}

Output GraphImporter::Resolve(const TensorId& id, uint32_t hash) {
  if (!input_map_.empty()) {
    const auto mapped = input_map_.find({std::string(id.node), id.index});
    if (mapped != input_map_.end()) {
      mapped->second.used = true;
      return mapped->second.to;
    }
  }
  NodeId node;
  const auto renamed = renamed_.empty() ? renamed_.end() : renamed_.find(id.node);
  if (renamed != renamed_.end()) {
    node = graph_.Find(renamed->second);
  } else {
    node = prefix_.empty() ? graph_.FindHashed(id.node, hash) : graph_.Find(absl::StrCat(prefix_, id.node));
  }
  // Only what came with the file: other nodes of the graph are reached through the map, or by what extends it.
  const bool is_known = graph_.Contains(node) && (options_.extends || node.value() >= first_new_);
  if (!is_known) return Output{NodeId(-1), 0};
  return Output{node, id.index};
}

int32_t& GraphImporter::ControlMark(NodeId control) {
  if (control.value() < first_new_) return old_control_marks_.try_emplace(control.value(), -1).first->second;
  if (control_marks_.empty()) control_marks_.assign(static_cast<size_t>(graph_.id_limit() - first_new_), -1);
  return control_marks_[static_cast<size_t>(control.value() - first_new_)];
}

bool GraphImporter::IsNewControl(NodeId id, NodeId control, uint32_t first, uint32_t last) {
  constexpr uint32_t kFew = 8;
  if (last - first < kFew) {
    for (uint32_t i = first; i < last; ++i) {
      if (graph_.inputs_[i].node == control) return false;
    }
    return true;
  }
  if (last - first == kFew) {  // From now on marks answer: mark what is there.
    for (uint32_t i = first; i < last; ++i) ControlMark(graph_.inputs_[i].node) = id.value();
  }
  int32_t& mark = ControlMark(control);
  if (mark == id.value()) return false;
  mark = id.value();
  return true;
}

absl::Status GraphImporter::UnknownInput(int32_t position, absl::string_view text) const {
  // Text that is not a slot stays in the name, which then is invalid: names have no ':'.
  const bool odd = !IsValidNodeName(ParseTensorId(text).node, /*internal=*/true);
  if (odd) {
    return Error(ErrorCode::kInputSyntax)
        .Input(position, text)
        .Text("is not the name of an input")
        .Expected("'node', 'node:slot' or '^node'");
  }
  return Error(ErrorCode::kInputUnknown).Input(position, text).Text("names a node that is not there");
}

absl::Status GraphImporter::UnknownSlot(int32_t position, absl::string_view text, const Output& source) const {
  return Error(ErrorCode::kInputSlot)
      .Input(position, text)
      .Text("names an output that is not there")
      .Found(absl::StrCat("slot ", source.index))
      .Expected(absl::StrCat("a slot below ", graph_.num_outputs(source.node)));
}

absl::Status GraphImporter::LinkNode(NodeId id) {
  const Graph::Record& record = graph_.rec(id);
  const uint32_t begin = record.first_input;
  const uint32_t data_end = begin + record.num_inputs;
  const uint32_t end = data_end + record.num_controls;
  uint32_t next = begin;  // Where the next edge goes: repeated control inputs close up.
  absl::Status first_error;
  for (uint32_t i = begin; i < end; ++i) {
    const absl::string_view text = Text(graph_.inputs_[i]);
    const int32_t position = static_cast<int32_t>(i - begin);
    const TensorId parsed = InputAt(i).id;
    const Output source = Resolve(parsed, InputAt(i).hash);
    if (i + kInputsAhead < texts_end_) ReadInputAhead(i + kInputsAhead);  // In the place of this one.
    if (!source.is_set()) {  // An error, perhaps of the node it names. Without an id there is nothing more to look at.
      if (first_error.ok() && !IsBroken(parsed)) first_error = UnknownInput(position, text);
      if (i < data_end) graph_.inputs_[next++] = source;
      continue;
    }
    graph_.inputs_[next] = source;
    absl::Status status;
    if (i < data_end) {
      if (source.index >= graph_.num_outputs(source.node)) {
        status = UnknownSlot(position, text, source);
      } else {
        status = graph_.CheckEdge(id, position, source);
      }
    } else if (!IsNewControl(id, source.node, data_end, next)) {
      continue;
    }
    if (!status.ok() && first_error.ok()) first_error = status;
    ++next;
  }
  graph_.rec(id).num_controls = next - data_end;
  if (next == begin && !extra_controls_.empty()) {
    for (NodeId control : extra_controls_) SLUICE_RETURN_IF_ERROR(graph_.AddControl(id, control));
  }
  return first_error;
}

}  // namespace sluice
