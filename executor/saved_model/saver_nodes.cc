#include "executor/saved_model/saver_nodes.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "executor/saved_model/variable_folder.h"
#include "graph/base/status_macros.h"
#include "graph/edit/graph_editor.h"
#include "graph/training/variable_node.h"
#include "graph/value/tstring.h"

namespace sluice {
namespace {

// The key of a variable behind a handle: where the resource is kept.
std::string HandleKey(const Graph& graph, NodeId id) {
  const auto text = [&](absl::string_view attr) -> std::string {
    AttrView value;
    if (!graph.FindAttr(id, attr, &value)) return "";
    const absl::StatusOr<absl::string_view> read = value.AsString();
    return read.ok() ? std::string(*read) : "";
  };
  const std::string shared = text("shared_name");
  return absl::StrCat(text("container"), "/", shared.empty() ? std::string(graph.name(id)) : shared);
}

// Adds the nodes of one saver. Lives for one AddSaver.
class SaverWriter {
 public:
  SaverWriter(Graph& graph, std::vector<VariableNode> variables, const std::string& name)
      : edit_(graph), variables_(std::move(variables)), scope_(edit_.InName(UniqueScope(graph, name))) {
    for (const VariableNode& variable : variables_) {
      nodes_.variables.emplace_back(graph.name(variable.id()));
      dtypes_.push_back(variable.dtype());
    }
  }

  absl::StatusOr<SaverNodes> Write() {
    const Output name = Const("filename/input", Tensor::String("model"));
    const Output filename = WithDefault("filename", name);
    prefix_ = WithDefault("Const", filename);
    AddSave();
    AddRestore();
    SLUICE_RETURN_IF_ERROR(edit_.status());
    nodes_.saver.filename_tensor = absl::StrCat(NameOf(prefix_), ":0");
    nodes_.saver.version = 2;
    return std::move(nodes_);
  }

 private:
  static std::string UniqueScope(const Graph& graph, const std::string& name) {
    std::string scope = name;
    for (int i = 1; graph.Find(absl::StrCat(scope, "/Const")).valid(); ++i) scope = absl::StrCat(name, "_", i);
    return scope;
  }
  std::string NameOf(const Output& output) const {
    return output.is_set() ? std::string(edit_.graph().name(output.node)) : "";
  }
  Output Const(absl::string_view name, const Tensor& value) {
    return edit_.Add("Const", name, {}, {{"dtype", value.dtype()}, {"value", value}});
  }
  Output WithDefault(absl::string_view name, const Output& value) {
    return edit_.Add("PlaceholderWithDefault", name, {value}, {{"dtype", DType::kString}, {"shape", Shape()}});
  }
  // A vector of the checkpoint's keys, or of as many empty slices.
  Output Names(absl::string_view node, bool are_keys) {
    const std::vector<absl::string_view> keys(nodes_.variables.begin(), nodes_.variables.end());
    const std::vector<absl::string_view> slices(keys.size());
    return Const(node, Tensor::Strings(are_keys ? keys : slices));
  }

  void AddSave() {
    std::vector<Output> inputs = {prefix_, Names("SaveV2/tensor_names", true), Names("SaveV2/shape_and_slices", false)};
    for (const VariableNode& variable : variables_) {
      inputs.push_back(variable.Read(edit_));
      nodes_.reads.push_back(NameOf(inputs.back()));
    }
    const Output save = edit_.Add("SaveV2", "SaveV2", inputs, {{"dtypes", dtypes_}});
    const GraphEditor::Scope after = edit_.After({save.node});
    const Output done = edit_.Add("Identity", "control_dependency", {prefix_});
    nodes_.saver.save_tensor = absl::StrCat(NameOf(done), ":0");
  }

  void AddRestore() {
    const std::vector<Output> inputs = {prefix_, Names("RestoreV2/tensor_names", true),
                                        Names("RestoreV2/shape_and_slices", false)};
    const Output restored = edit_.Add("RestoreV2", "RestoreV2", inputs, {{"dtypes", dtypes_}});
    std::vector<NodeId> assigns;
    for (size_t i = 0; i < variables_.size(); ++i) {
      const Output value = GraphEditor::Nth(restored, static_cast<int32_t>(i));
      nodes_.restored.push_back(absl::StrCat(NameOf(restored), ":", i));
      assigns.push_back(variables_[i].Assign(edit_, value));
      nodes_.assigns.push_back(NameOf({assigns.back(), 0}));
    }
    const GraphEditor::Scope after = edit_.After(assigns);
    nodes_.saver.restore_op = NameOf(edit_.Add("NoOp", "restore_all", {}));
  }

  GraphEditor edit_;
  const std::vector<VariableNode> variables_;
  const GraphEditor::Scope scope_;
  std::vector<DType> dtypes_;
  Output prefix_;
  SaverNodes nodes_;
};

}  // namespace

std::vector<NodeId> VariablesNeededBy(const Graph& graph, absl::Span<const NodeId> roots) {
  std::vector<bool> seen(static_cast<size_t>(graph.id_limit()));
  std::vector<NodeId> needed;
  const auto add = [&](NodeId id) {
    if (!graph.Contains(id) || seen[static_cast<size_t>(id.value())]) return;
    seen[static_cast<size_t>(id.value())] = true;
    needed.push_back(id);
  };
  for (const NodeId root : roots) add(root);
  for (size_t next = 0; next < needed.size(); ++next) {
    for (const Output& input : graph.all_inputs(needed[next])) add(input.node);
  }
  std::vector<NodeId> variables;
  std::set<std::string> handles;
  for (const NodeId id : graph.Nodes()) {
    if (!seen[static_cast<size_t>(id.value())] || !graph.op(id).traits.makes_variable) continue;
    if (!graph.Is(id, "VarHandleOp") || handles.insert(HandleKey(graph, id)).second) variables.push_back(id);
  }
  return variables;
}

absl::StatusOr<SaverNodes> AddSaver(Graph& graph, absl::Span<const NodeId> variables, const std::string& name) {
  if (variables.empty()) return SaverNodes();
  std::vector<VariableNode> found;
  for (const NodeId id : variables) {
    SLUICE_ASSIGN_OR_RETURN(VariableNode variable, VariableNode::Find(graph, id));
    found.push_back(std::move(variable));
  }
  return SaverWriter(graph, std::move(found), name).Write();
}

absl::StatusOr<NamedTensors> ReadVariables(Session& session, const SaverNodes& nodes, const CallOptions& call) {
  if (nodes.variables.empty()) return NamedTensors();
  SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> values, session.Run({}, nodes.reads, {}, call));
  NamedTensors named;
  for (size_t i = 0; i < values.size(); ++i) named.emplace_back(nodes.variables[i], std::move(values[i]));
  return named;
}

absl::Status AssignVariables(Session& session, const SaverNodes& nodes, const NamedTensors& values,
                             const CallOptions& call) {
  NamedTensors feeds;
  std::vector<std::string> targets;
  std::map<absl::string_view, const Tensor*> by_name;
  for (const auto& [name, value] : values) by_name.emplace(name, &value);  // Keeps the first of a name.
  for (size_t i = 0; i < nodes.variables.size(); ++i) {
    const auto found = by_name.find(nodes.variables[i]);
    if (found == by_name.end()) continue;
    feeds.emplace_back(nodes.restored[i], *found->second);
    targets.push_back(nodes.assigns[i]);
  }
  return targets.empty() ? absl::OkStatus() : session.Run(feeds, {}, targets, call).status();
}

}  // namespace sluice
