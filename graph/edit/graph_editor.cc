#include "graph/edit/graph_editor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/edit/validate.h"

namespace sluice {
namespace {

absl::Status Missing(NodeId id) {
  return Error(ErrorCode::kNodeMissing)
      .Text("a change of the graph names a node that is not in it")
      .Found(absl::StrCat("id ", id.value()));
}

// Whether `source` is an output that is there and has type `wanted`, or is a reference to it.
bool Gives(const Graph& graph, const Output& source, DType wanted) {
  if (source.is_control() || source.index >= graph.num_outputs(source.node)) return false;
  const DType type = graph.output_type(source.node, source.index);
  return type == wanted || (IsRef(type) && BaseType(type) == wanted);
}

}  // namespace

GraphEditor::Scope::~Scope() {
  SLUICE_DCHECK_EQ(editor_.scopes_.size(), depth_ + 1);
  if (editor_.scopes_.size() > depth_) editor_.scopes_.resize(depth_);
}

GraphEditor::Surroundings& GraphEditor::Enter() {
  scopes_.push_back(Surroundings(scopes_.back()));
  return scopes_.back();
}

GraphEditor::Scope GraphEditor::InName(absl::string_view name) {
  absl::StrAppend(&Enter().prefix, name, "/");
  return Scope(*this, scopes_.size() - 1);
}

GraphEditor::Scope GraphEditor::OnDevice(absl::string_view device) {
  Enter().device = std::string(device);
  return Scope(*this, scopes_.size() - 1);
}

GraphEditor::Scope GraphEditor::ColocatedWith(NodeId id) {
  Surroundings& scope = Enter();
  if (graph_.Contains(id)) {
    scope.device = std::string(graph_.device(id));
    const absl::StatusOr<AttrView> stated = graph_.GetAttr(id, "_class");
    absl::StatusOr<std::vector<absl::string_view>> groups =
        stated.ok() ? stated->AsStringList() : std::vector<absl::string_view>();
    const std::string own = absl::StrCat("loc:@", graph_.name(id));
    if (!groups.ok() || groups->empty()) groups = std::vector<absl::string_view>{own};
    for (const absl::string_view group : *groups) scope.groups.emplace_back(group);
    std::sort(scope.groups.begin(), scope.groups.end());
    scope.groups.erase(std::unique(scope.groups.begin(), scope.groups.end()), scope.groups.end());
  }
  return Scope(*this, scopes_.size() - 1);
}

GraphEditor::Scope GraphEditor::After(absl::Span<const NodeId> predecessors) {
  Surroundings& scope = Enter();
  scope.controls.insert(scope.controls.end(), predecessors.begin(), predecessors.end());
  return Scope(*this, scopes_.size() - 1);
}

std::string GraphEditor::FreeName(const std::string& wanted) {
  int64_t& next = asked_[wanted];
  std::string name = next == 0 ? wanted : absl::StrCat(wanted, "_", next);
  while (graph_.Contains(graph_.Find(name))) name = absl::StrCat(wanted, "_", ++next);
  ++next;
  return name;
}

Output GraphEditor::Add(absl::string_view op, absl::string_view name, absl::Span<const Output> inputs, AttrList attrs) {
  const Output nothing{NodeId(-1), 0};
  if (!status_.ok()) return nothing;
  const Surroundings& scope = scopes_.back();
  NodeSpec spec;
  const std::string unique = FreeName(absl::StrCat(scope.prefix, name.empty() ? op : name));
  spec.name = unique;
  spec.op = op;
  spec.device = scope.device;
  spec.controls = scope.controls;
  for (const Output& input : inputs) {
    if (input.is_set() && input.is_control()) {
      spec.controls.push_back(input.node);
    } else {
      spec.inputs.push_back(input);
    }
  }
  const bool is_grouped =
      std::any_of(attrs.begin(), attrs.end(), [](const auto& attr) { return attr.first == "_class"; });
  if (!scope.groups.empty() && !is_grouped) attrs.emplace_back("_class", scope.groups);
  if (const OpSchema* const schema = graph_.FindOp(op)) {
    status_ = WithNode(InferTypeAttrs(graph_, *schema, spec.inputs, &attrs), unique, op);
    if (!status_.ok()) return nothing;
  }
  spec.attrs = std::move(attrs);
  const absl::StatusOr<NodeId> id = AddNode(spec);
  status_ = id.status();
  if (!id.ok()) return nothing;
  return Output{*id, graph_.num_outputs(*id) > 0 ? 0 : kControlIndex};
}

absl::StatusOr<NodeId> GraphEditor::AddNode(const NodeSpec& spec) {
  absl::StatusOr<NodeId> id = graph_.AddNode(spec);
  if (id.ok() && uses_ != nullptr) TakeInAdded();
  return id;
}

void GraphEditor::TakeInAdded() {
  if (uses_ == nullptr) return;                       // Will be made of the whole graph.
  std::unique_ptr<LiveUses> uses = std::move(uses_);  // Gone where Link throws.
  for (; known_ < graph_.id_limit(); ++known_) {
    if (graph_.Contains(NodeId(known_))) uses->Link(graph_, NodeId(known_));
  }
  uses_ = std::move(uses);
}

LiveUses& GraphEditor::Uses() {
  if (uses_ == nullptr) {
    uses_ = std::make_unique<LiveUses>(graph_);
    known_ = graph_.id_limit();
  }
  return *uses_;
}

template <typename Change>
auto GraphEditor::WithUses(NodeId id, const Change& change) {
  WillChange(id);
  std::unique_ptr<LiveUses> uses = std::move(uses_);  // Gone where something throws: then they are made anew.
  if (uses != nullptr && graph_.Contains(id)) uses->Unlink(id);
  auto result = change();
  if (uses != nullptr && graph_.Contains(id)) uses->Link(graph_, id);
  uses_ = std::move(uses);
  return result;
}

absl::Status GraphEditor::SetInput(NodeId id, int32_t i, Output source) {
  return WithUses(id, [&] { return graph_.SetInput(id, i, source); });
}

absl::Status GraphEditor::SetInputs(NodeId id, absl::Span<const Output> inputs, absl::Span<const NodeId> controls) {
  return WithUses(id, [&] { return graph_.SetInputs(id, inputs, controls); });
}

absl::Status GraphEditor::AddControl(NodeId id, NodeId predecessor) {
  return WithUses(id, [&] { return graph_.AddControl(id, predecessor); });
}

void GraphEditor::RemoveControl(NodeId id, NodeId predecessor) {
  WithUses(id, [&] {
    graph_.RemoveControl(id, predecessor);
    return true;
  });
}

absl::Status GraphEditor::SetAttr(NodeId id, absl::string_view name, const AttrValue& value) {
  WillChange(id);
  return graph_.SetAttr(id, name, value);
}

absl::Status GraphEditor::RemoveAttr(NodeId id, absl::string_view name) {
  WillChange(id);
  return graph_.RemoveAttr(id, name);
}

absl::Status GraphEditor::ReplaceUses(const Output& from, const Output& to) {
  if (!graph_.Contains(to.node)) return Missing(to.node);
  if (!from.is_set() || from.is_control() != to.is_control()) {
    return graph_.Locate(to.node, Error(ErrorCode::kWrongUse)
                                      .Text("cannot take over uses of another kind than its own")
                                      .Expected("data for data and control for control"));
  }
  if (from == to) return absl::OkStatus();
  std::vector<Use> uses = UsesOf(from);
  uses.erase(std::remove_if(uses.begin(), uses.end(), [&](const Use& use) { return use.node == to.node; }), uses.end());
  for (const Use& use : uses) {
    const bool is_control = use.input == kControlIndex;
    if (is_control || Gives(graph_, to, graph_.input_type(use.node, use.input))) continue;
    return SetInput(use.node, use.input, to);  // Changes nothing and says why.
  }
  for (const Use& use : uses) {
    if (use.input == kControlIndex) {
      SLUICE_RETURN_IF_ERROR(AddControl(use.node, to.node));
      RemoveControl(use.node, from.node);
    } else {
      SLUICE_RETURN_IF_ERROR(SetInput(use.node, use.input, to));
    }
  }
  return absl::OkStatus();
}

absl::Status GraphEditor::UsedBy(NodeId id, NodeId user) const {
  return graph_.Locate(
      id, Error(ErrorCode::kWrongUse)
              .Text(absl::StrCat("cannot be removed while '", PrintableName(graph_.name(user)), "' uses it")));
}

absl::Status GraphEditor::Remove(NodeId id) {
  if (!graph_.Contains(id)) return absl::OkStatus();
  for (const Use& use : UsesOf(id)) {
    if (use.node != id) return UsedBy(id, use.node);
  }
  WithUses(id, [&] {
    graph_.RemoveNode(id);
    return true;
  });
  return absl::OkStatus();
}

absl::Status GraphEditor::RemoveAll(absl::Span<const NodeId> ids) {
  std::vector<bool> goes(static_cast<size_t>(graph_.id_limit()), false);
  const auto goes_too = [&](NodeId id) { return goes[static_cast<size_t>(id.value())]; };
  for (const NodeId id : ids) {
    if (graph_.Contains(id)) goes[static_cast<size_t>(id.value())] = true;
  }
  if (uses_ != nullptr) {
    for (const NodeId id : ids) {
      for (const Use& use : UsesOf(id)) {
        if (!goes_too(use.node)) return UsedBy(id, use.node);
      }
    }
  } else {
    for (int32_t i = 0; i < graph_.id_limit(); ++i) {
      if (!graph_.Contains(NodeId(i)) || goes_too(NodeId(i))) continue;
      for (const Output& input : graph_.all_inputs(NodeId(i))) {
        if (graph_.Contains(input.node) && goes_too(input.node)) return UsedBy(input.node, NodeId(i));
      }
    }
  }
  for (const NodeId id : ids) {
    if (!graph_.Contains(id)) continue;
    WithUses(id, [&] {
      graph_.RemoveNode(id);
      return true;
    });
  }
  return absl::OkStatus();
}

absl::StatusOr<const ShapeMap*> GraphEditor::Shapes() {
  const LiveUses& uses = Uses();
  if (shapes_ == nullptr) shapes_ = std::make_unique<LiveShapes>(graph_, inference_);
  return shapes_->Update(uses);
}

void GraphEditor::SetInference(InferenceOptions options) {
  shapes_ = nullptr;
  inference_ = std::move(options);
}

absl::Status GraphEditor::Validate() const {
  SLUICE_RETURN_IF_ERROR(status_);
  SLUICE_RETURN_IF_ERROR(ValidateGraph(graph_));
  return uses_ == nullptr ? absl::OkStatus() : uses_->Check(graph_);
}

}  // namespace sluice
