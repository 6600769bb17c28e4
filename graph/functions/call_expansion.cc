#include "graph/functions/call_expansion.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {

absl::Status CallExpansion::Count(NodeId call, size_t nodes) {
  nodes_added_ += static_cast<int64_t>(nodes);
  if (nodes_added_ <= limits_.max_expanded_nodes) return absl::OkStatus();
  return graph_.Locate(call, Error(ErrorCode::kLimitNodes)
                                 .Limit("max_expanded_nodes", limits_.max_expanded_nodes)
                                 .Text("makes the graph's calls expand to too many nodes"));
}

absl::StatusOr<NodeId> CallExpansion::Add(absl::string_view op, absl::string_view name, std::vector<Output> inputs,
                                          std::vector<NodeId> controls,
                                          std::vector<std::pair<std::string, AttrValue>> attrs,
                                          absl::string_view device) {
  NodeSpec spec;
  const std::string unique = graph_.UniqueName(name);
  spec.name = unique;
  spec.op = op;
  spec.inputs = std::move(inputs);
  spec.controls = std::move(controls);
  spec.attrs = std::move(attrs);
  spec.device = device;
  SLUICE_ASSIGN_OR_RETURN(const NodeId id, graph_.AddNode(spec));
  SLUICE_RETURN_IF_ERROR(Count(id, 1));
  return id;
}

absl::StatusOr<std::vector<Output>> CallExpansion::Inputs(NodeId id) {
  std::vector<Output> inputs(graph_.inputs(id).begin(), graph_.inputs(id).end());
  for (Output& input : inputs) {
    SLUICE_ASSIGN_OR_RETURN(input, Resolve(input));
  }
  return inputs;
}

std::vector<NodeId> CallExpansion::Controls(NodeId id) const {
  std::vector<NodeId> controls;
  for (const Output& control : graph_.controls(id)) controls.push_back(control.node);
  return controls;
}

absl::Status CallExpansion::Replace(NodeId id, std::vector<Replacement> outputs, std::vector<NodeId> done) {
  Replaced replaced;
  replaced.name = std::string(graph_.name(id));
  replaced.made_for = MadeForOf(graph_, id);
  replaced.device = std::string(graph_.device(id));
  replaced.outputs = std::move(outputs);
  replaced.done = std::move(done);
  std::vector<DType> types;
  for (DType type : graph_.signature(id).outputs) types.push_back(BaseType(type));
  graph_.RemoveNode(id);
  const Replaced& noted = replaced_[id] = std::move(replaced);
  if (kept_.contains(id)) {
    std::vector<Output> values;
    for (size_t i = 0; i < noted.outputs.size(); ++i) {
      SLUICE_ASSIGN_OR_RETURN(Output value, Resolve(Output{id, static_cast<int32_t>(i)}));
      values.push_back(value);
    }
    const std::string name = noted.name;
    const std::string device = noted.device;
    const auto mark = MadeForAttr(noted.made_for);
    SLUICE_RETURN_IF_ERROR((types.empty() ? Add("NoOp", name, {}, {id}, {mark}, device)
                                          : Add("IdentityN", name, values, {id}, {{"T", types}, mark}, device))
                               .status());
  }
  return absl::OkStatus();
}

absl::StatusOr<Output> CallExpansion::Resolve(Output output) {
  std::vector<Output> gated;  // Outputs on the way whose replacement is to wait for a node. Loops may follow loops.
  for (;;) {
    for (auto found = replaced_.find(output.node); found != replaced_.end(); found = replaced_.find(output.node)) {
      const Replacement& replacement = found->second.outputs[static_cast<size_t>(output.index)];
      if (replacement.gate.valid()) gated.push_back(output);
      output = replacement.value;
    }
    if (gated.empty()) return output;
    SLUICE_ASSIGN_OR_RETURN(output, AddGate(gated.back(), output));
    gated.pop_back();
  }
}

absl::StatusOr<Output> CallExpansion::AddGate(const Output& output, const Output& value) {
  Replaced& replaced = replaced_.at(output.node);
  Replacement& replacement = replaced.outputs[static_cast<size_t>(output.index)];
  const AttrValue type(BaseType(graph_.output_type(value.node, value.index)));
  const std::string name = absl::StrCat("Func/", replaced.name, "/unchanged/_", output.index);
  // Add() does not touch replaced_: the references stay valid.
  SLUICE_ASSIGN_OR_RETURN(const NodeId gate, Add("Identity", name, {value}, {replacement.gate},
                                                 {{"T", type}, MadeForAttr(replaced.made_for)}, replaced.device));
  replacement = Replacement{Output{gate, 0}, NodeId()};
  return replacement.value;
}

absl::StatusOr<NodeId> CallExpansion::ResolveControl(NodeId id) {
  for (auto found = replaced_.find(id); found != replaced_.end(); found = replaced_.find(id)) {
    Replaced& replaced = found->second;
    if (replaced.done.empty()) return NodeId();
    if (replaced.done.size() > 1) {
      // One node to wait for instead of many, however many wait. Its own controls are turned when Finish gets there.
      const std::string name = absl::StrCat("Func/", replaced.name, "/output_control_node/_0");
      SLUICE_ASSIGN_OR_RETURN(const NodeId group,
                              Add("NoOp", name, {}, replaced.done, {MadeForAttr(replaced.made_for)}, replaced.device));
      replaced.done = {group};
    }
    id = replaced.done.front();
  }
  return id;
}

absl::Status CallExpansion::TurnEdges(NodeId id) {
  const auto is_replaced = [this](const Output& input) { return replaced_.contains(input.node); };
  const absl::Span<const Output> all = graph_.all_inputs(id);
  if (std::none_of(all.begin(), all.end(), is_replaced)) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Output> inputs, Inputs(id));
  std::vector<NodeId> controls;
  for (NodeId control : Controls(id)) {
    SLUICE_ASSIGN_OR_RETURN(const NodeId turned, ResolveControl(control));
    if (turned.valid()) controls.push_back(turned);
  }
  return graph_.SetInputs(id, inputs, controls);
}

absl::Status CallExpansion::Finish() {
  if (replaced_.empty()) return absl::OkStatus();
  // Nodes added on the way (groups, gates) come behind and get their turn.
  for (int32_t i = 0; i < graph_.id_limit(); ++i) {
    if (graph_.Contains(NodeId(i))) SLUICE_RETURN_IF_ERROR(TurnEdges(NodeId(i)));
  }
  return absl::OkStatus();
}

bool CallExpansion::Pop(Pending* pending) {
  if (pending_.empty()) return false;
  *pending = pending_.front();
  pending_.pop_front();
  may_stay_ = pending->may_stay;
  scope_ = pending->scope;
  around_ = pending->around;
  origin_ = Origin::kLowered;
  return true;
}

std::vector<NodeId> CallExpansion::Replacements(std::vector<NodeId> values, std::vector<NodeId> controls) const {
  std::vector<NodeId> found;
  HashSet<NodeId> seen_values, seen_controls;
  while (!values.empty() || !controls.empty()) {
    const bool is_value = !values.empty();
    std::vector<NodeId>& nodes = is_value ? values : controls;
    const NodeId id = nodes.back();
    nodes.pop_back();
    if (!(is_value ? seen_values : seen_controls).insert(id).second) continue;
    const auto replaced = replaced_.find(id);
    if (replaced == replaced_.end()) {
      found.push_back(id);
      continue;
    }
    HashSet<NodeId> gives_outputs;
    for (const Replacement& output : replaced->second.outputs) gives_outputs.insert(output.value.node);
    if (is_value) values.insert(values.end(), gives_outputs.begin(), gives_outputs.end());
    for (const NodeId done : replaced->second.done) (gives_outputs.contains(done) ? values : controls).push_back(done);
  }
  return found;
}

void CallExpansion::AddTo(InlinedParts* parts) const {
  if (!replaced_.empty()) {
    parts->roots = Replacements(std::move(parts->roots), std::move(parts->control_roots));
    parts->control_roots.clear();
  }
  for (const Group& group : together_) parts->together.push_back(Replacements(group.values, group.controls));
}

}  // namespace sluice
