#include "tools/cli/run/initial_values.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "graph/ir/consumers.h"
#include "graph/ir/op_class.h"
#include "graph/ir/tensor_id.h"

namespace sluice {
namespace {

bool IsAssign(absl::string_view op) { return op == "Assign" || op == "AssignVariableOp"; }
bool IsRestore(absl::string_view op) { return absl::StartsWith(op, "Restore"); }

}  // namespace

InitialValues::InitialValues(const LoadedGraph& model)
    : graph_(model.graph), assigns_(graph_, IsAssign), restores_(graph_, IsRestore) {
  restored_ = RestoredVariables();
}

std::vector<NodeId> InitialValues::Needed(std::vector<NodeId> roots) const {
  std::vector<bool> seen(static_cast<size_t>(graph_.id_limit()));
  std::vector<NodeId> needed;
  const auto add = [&](NodeId id) {
    if (!graph_.Contains(id) || seen[static_cast<size_t>(id.value())]) return;
    seen[static_cast<size_t>(id.value())] = true;
    needed.push_back(id);
  };
  for (const NodeId root : roots) add(root);
  for (size_t next = 0; next < needed.size(); ++next) {
    for (const Output& input : graph_.all_inputs(needed[next])) add(input.node);
  }
  return needed;
}

NodeId InitialValues::VariableOf(Output reference) const {
  NodeId variable;
  std::vector<NodeId> way;
  while (graph_.Contains(reference.node)) {
    const NodeId id = reference.node;
    if (graph_.op(id).traits.makes_variable) {
      variable = id;
      break;
    }
    const DType type = reference.is_control() ? DType::kInvalid : graph_.output_type(id, reference.index);
    if ((!IsRef(type) && type != DType::kResource) || graph_.inputs(id).empty()) break;
    const auto [known, is_new] = variable_of_.try_emplace(id);  // No variable so far, which also ends cycles.
    if (!is_new) {
      variable = known->second;
      break;
    }
    way.push_back(id);
    reference = graph_.inputs(id)[0];
  }
  for (const NodeId id : way) variable_of_[id] = variable;
  return variable;
}

bool InitialValues::ComesFromCheckpoint(Output value) const {
  bool comes_from_checkpoint = false;
  std::vector<NodeId> way;
  while (graph_.Contains(value.node)) {
    const NodeId id = value.node;
    const auto [known, is_new] = comes_from_checkpoint_.try_emplace(id, false);
    if (!is_new) {
      comes_from_checkpoint = known->second;
      break;
    }
    way.push_back(id);
    if (restores_.In(id)) {
      comes_from_checkpoint = true;
      break;
    }
    if (graph_.op(id).op_class != OpClass::kForward || graph_.inputs(id).empty()) break;
    value = graph_.inputs(id)[0];
  }
  for (const NodeId id : way) comes_from_checkpoint_[id] = comes_from_checkpoint;
  return comes_from_checkpoint;
}

// Follows data edges from values that change between runs: variables, feeds, and results of calls.
std::vector<bool> InitialValues::VaryingNodes() const {
  std::vector<bool> varies(static_cast<size_t>(graph_.id_limit()));
  std::vector<NodeId> found;
  for (const NodeId id : graph_.Nodes()) {
    if (!graph_.op(id).traits.makes_variable && !graph_.op(id).traits.is_placeholder) continue;
    varies[static_cast<size_t>(id.value())] = true;
    found.push_back(id);
  }
  const Consumers consumers(graph_);
  for (size_t next = 0; next < found.size(); ++next) {
    for (const Use& use : consumers.of(found[next])) {
      if (use.input < 0 || varies[static_cast<size_t>(use.node.value())]) continue;
      varies[static_cast<size_t>(use.node.value())] = true;
      found.push_back(use.node);
    }
  }
  return varies;
}

bool InitialValues::IsUpdate(NodeId id) const {
  const absl::Span<const Output> inputs = graph_.inputs(id);
  if (!IsAssign(graph_.op_name(id)) || inputs.size() < 2 || !graph_.Contains(inputs[1].node)) return false;
  if (varies_.empty()) varies_ = VaryingNodes();
  return varies_[static_cast<size_t>(inputs[1].node.value())];
}

bool InitialValues::IsRestored(NodeId id) const {
  if (restores_.In(id)) return true;
  const absl::Span<const Output> inputs = graph_.inputs(id);
  return IsAssign(graph_.op_name(id)) && inputs.size() >= 2 && ComesFromCheckpoint(inputs[1]);
}

std::vector<NodeId> InitialValues::AssignedBy(NodeId id) const {
  std::vector<NodeId> variables;
  if (!assigns_.In(id)) return variables;
  const absl::Span<const Output> inputs = graph_.inputs(id);
  const size_t count = IsAssign(graph_.op_name(id)) ? std::min<size_t>(inputs.size(), 1) : inputs.size();
  for (size_t i = 0; i < count; ++i) {
    const DType type = graph_.input_type(id, static_cast<int32_t>(i));
    if (!IsRef(type) && type != DType::kResource) continue;
    const NodeId variable = VariableOf(inputs[i]);
    if (variable.valid()) variables.push_back(variable);
  }
  return variables;
}

absl::flat_hash_set<NodeId> InitialValues::RestoredVariables() const {
  absl::flat_hash_set<NodeId> variables;
  for (const NodeId id : graph_.Nodes()) {
    if (!IsRestored(id)) continue;
    for (const NodeId variable : AssignedBy(id)) variables.insert(variable);
  }
  return variables;
}

bool InitialValues::SetBy(absl::string_view name) const {
  const std::vector<NodeId> needed = Needed({graph_.Find(ParseTensorId(name).node)});
  return std::any_of(needed.begin(), needed.end(), [this](NodeId id) {
    if (!assigns_.In(id) || IsRestored(id) || IsUpdate(id)) return false;
    const std::vector<NodeId> variables = AssignedBy(id);
    if (restored_.empty() || variables.empty()) return true;
    return std::any_of(variables.begin(), variables.end(),
                       [this](NodeId variable) { return restored_.contains(variable); });
  });
}

std::string InitialValues::InitOf(absl::string_view reader) const {
  absl::flat_hash_set<NodeId> read;
  const NodeId id = graph_.Find(reader);
  if (!graph_.Contains(id)) return "";
  if (graph_.op(id).traits.makes_variable) read.insert(id);
  for (const Output& input : graph_.inputs(id)) {
    if (const NodeId variable = VariableOf(input); variable.valid()) read.insert(variable);
  }
  for (const NodeId candidate : graph_.Nodes()) {
    if (!IsAssign(graph_.op_name(candidate)) || IsRestored(candidate)) continue;
    for (const NodeId variable : AssignedBy(candidate)) {
      if (read.contains(variable)) return std::string(graph_.name(candidate));
    }
  }
  return "";
}

}  // namespace sluice
