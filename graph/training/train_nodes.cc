#include "graph/training/train_nodes.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice {

TrainNodes::TrainNodes(Graph& graph, const std::string& name)
    : name_(name),
      edit_(graph),
      nothing_(graph, {}, {}, {}),
      facts_(graph, nothing_),
      emitter_(graph, facts_, name, /*colocate=*/false) {}

TrainNodes::Scope::Scope(TrainNodes& nodes, absl::string_view part, absl::string_view device)
    : emitter_(nodes.emitter_),
      outer_(nodes.emitter_.SaveScope()),
      name_(nodes.edit_.InName(absl::StrCat(nodes.name_, "/", part))),
      device_(nodes.edit_.OnDevice(device)) {
  emitter_.BeginScope(part);
  GradientEmitter::SavedScope here = emitter_.SaveScope();
  here.device = std::string(device);
  emitter_.RestoreScope(std::move(here));
}

TrainNodes::Scope::~Scope() { emitter_.RestoreScope(std::move(outer_)); }

NodeId TrainNodes::Group(absl::string_view part, absl::Span<const NodeId> nodes) {
  const GraphEditor::Scope scope = edit_.After(nodes);
  return edit_.Add("NoOp", part.empty() ? name_ : absl::StrCat(name_, "/", part), {}).node;
}

Output TrainNodes::ShapeOf(const VariableNode& variable) {
  const GraphEditor::Scope place = edit_.OnDevice(DeviceOf(variable));
  const GraphEditor::Scope scope = edit_.InName(absl::StrCat(name_, "/", NameOf(variable)));
  return variable.ReadShape(edit_);
}

VariableNode TrainNodes::AddState(const VariableNode& like, const std::string& name, DType dtype,
                                  const PartialShape& shape) {
  if (!shared_names_.has_value()) shared_names_ = SharedNames(graph());
  const VariableNode state = like.AddAnother(edit_, UnsharedName(edit_, *shared_names_, name), dtype, shape);
  states_.push_back(state.id());
  return state;
}

void TrainNodes::Begin(const VariableNode& state, const Output& value) { inits_.push_back(state.Assign(edit_, value)); }

void TrainNodes::BeginWith(const VariableNode& state, const Output& shape, double number) {
  const GraphEditor::Scope place = edit_.OnDevice(DeviceOf(state));
  const GraphEditor::Scope scope = edit_.InName(NameOf(state));
  Begin(state, edit_.Add("Fill", "", {shape, ExactNumber(state.dtype(), number).output()}));
}

void TrainNodes::BeginWithScalar(const VariableNode& state, double number) {
  const GraphEditor::Scope place = edit_.OnDevice(DeviceOf(state));
  const GraphEditor::Scope scope = edit_.InName(NameOf(state));
  Begin(state, ExactNumber(state.dtype(), number).output());
}

Branch TrainNodes::If(const Expr& condition) {
  const Output both = edit_.Add("Switch", "", {condition.output(), condition.output()});
  return {edit_.Add("Identity", "taken", {GraphEditor::Nth(both, 1)}), edit_.Add("Identity", "not_taken", {both})};
}

NodeId TrainNodes::Join(const Branch& branch, NodeId last) {
  const GraphEditor::Scope scope = edit_.After({last});
  const Output done = edit_.Add("Identity", "done", {branch.taken});
  return edit_.Add("Merge", "", {branch.not_taken, done}, {{"N", int64_t{2}}}).node;
}

void AddUpRows(TrainNodes& nodes, Trained* trained) {
  if (trained->has_unique_rows) return;
  Gradient& gradient = trained->gradient;
  const Expr indices = nodes.Value(gradient.indices);
  const DType type = indices.type();
  const Expr unique = AddOp("Unique", {indices}, {{"out_idx", AttrValue(type)}});
  const Expr count = AddOp("Size", {unique}, {{"out_type", AttrValue(type)}});
  const Expr sums = UnsortedSegmentSum(nodes.Value(gradient.value), unique.out(1), count);
  gradient = Gradient::Slices(sums.output(), unique.output(), kNoOutput);
  trained->has_unique_rows = true;
}

void MakeDense(TrainNodes& nodes, Trained* trained) {
  Gradient& gradient = trained->gradient;
  const Expr count = Element(nodes.Value(trained->variable.ReadShape(nodes.edit())), 0);
  const Expr indices = Cast(nodes.Value(gradient.indices), DType::kInt64);
  gradient = Gradient::Dense(UnsortedSegmentSum(nodes.Value(gradient.value), indices, count).output());
}

}  // namespace sluice
