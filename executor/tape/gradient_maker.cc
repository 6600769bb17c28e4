#include "executor/tape/gradient_maker.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradient_context.h"
#include "graph/gradients/gradient_emitter.h"
#include "graph/gradients/gradient_region.h"

namespace sluice {
namespace {

constexpr int64_t kMaxConstantElements = 256;

// Wraps a registry without owning it.
std::shared_ptr<const OpRegistry> Borrow(const OpRegistry& ops) {
  return std::shared_ptr<const OpRegistry>(std::shared_ptr<const OpRegistry>(), &ops);
}

// Replaces the error code for graphs, which rows use, by that for tapes.
absl::Status NoDerivative(const absl::Status& status) {
  return WithChangedFacts(status, [](ErrorInfo& info) {
    if (info.code == ErrorCode::kUnsupported) info.code = ErrorCode::kTapeNoDerivative;
  });
}

absl::StatusOr<Output> AddPlaceholder(Graph& graph, const std::string& name, const Tensor& like) {
  NodeSpec spec;
  spec.name = name;
  spec.op = "Placeholder";
  spec.attrs = {{"dtype", like.dtype()}, {"shape", like.shape()}};
  SLUICE_ASSIGN_OR_RETURN(const NodeId id, graph.AddNode(spec));
  return Output{id, 0};
}

absl::StatusOr<Output> AddConst(Graph& graph, const std::string& name, const Tensor& value) {
  NodeSpec spec;
  spec.name = name;
  spec.op = "Const";
  spec.attrs = {{"dtype", value.dtype()}, {"value", value}};
  SLUICE_ASSIGN_OR_RETURN(const NodeId id, graph.AddNode(spec));
  return Output{id, 0};
}

}  // namespace

absl::StatusOr<std::shared_ptr<const GradientTemplate>> GradientTemplate::Make(EagerOps& ops, const OpCall& call,
                                                                               SlotSet wants, SlotSet dys) {
  return GradientMaker(ops, call, wants, dys).Make();
}

absl::StatusOr<std::shared_ptr<const GradientTemplate>> GradientMaker::Make() {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Attempt> attempt, Try());
  while (LearnConstants(*attempt)) {
    SLUICE_ASSIGN_OR_RETURN(attempt, Try());
  }
  made_ = std::shared_ptr<GradientTemplate>(new GradientTemplate());
  made_->wants_ = wants_;
  made_->dys_ = dys_;
  SLUICE_RETURN_IF_ERROR(WriteSteps(*attempt));
  WriteFacts(*attempt);
  return std::move(made_);
}

absl::StatusOr<std::unique_ptr<GradientMaker::Attempt>> GradientMaker::Try() const {
  auto attempt = std::make_unique<Attempt>(Graph(Borrow(ops_.registry())));
  attempt->graph.versions().producer = kGraphVersion;
  SLUICE_RETURN_IF_ERROR(AddForward(*attempt));
  SLUICE_RETURN_IF_ERROR(CallRow(*attempt));
  return attempt;
}

absl::Status GradientMaker::AddForward(Attempt& attempt) const {
  for (size_t i = 0; i < call_.inputs.size(); ++i) {
    const std::string name = absl::StrCat("input", i);
    const Tensor& value = *call_.inputs[i];
    SLUICE_ASSIGN_OR_RETURN(const Output source, is_constant_[i] ? AddConst(attempt.graph, name, value)
                                                                 : AddPlaceholder(attempt.graph, name, value));
    attempt.sources.push_back(source);
  }
  const LooseNode& node = call_.op.node();
  NodeSpec spec;
  spec.name = node.op().name;
  spec.op = node.op().name;
  spec.inputs = attempt.sources;
  for (const AttrSpec& attr : node.op().attrs) {
    AttrView value;
    if (node.FindAttr(attr.name, &value)) spec.attrs.emplace_back(attr.name, AttrValue::FromBytes(value.bytes()));
  }
  SLUICE_ASSIGN_OR_RETURN(const NodeId id, attempt.graph.AddNode(spec));
  for (size_t i = 0; i < call_.outputs.size(); ++i) {
    attempt.outputs.push_back({id, static_cast<int32_t>(i)});
    attempt.seeds.push_back(kNoOutput);
    const Tensor& value = *call_.outputs[i];
    if (!dys_.Has(i) || !IsDifferentiable(value.dtype())) continue;
    SLUICE_ASSIGN_OR_RETURN(attempt.seeds.back(), AddPlaceholder(attempt.graph, absl::StrCat("dy", i), value));
  }
  return absl::OkStatus();
}

absl::Status GradientMaker::CallRow(Attempt& attempt) const {
  std::vector<Output> wanted;
  for (size_t i = 0; i < attempt.sources.size(); ++i) {
    if (wants_.Has(i) && IsDifferentiable(call_.inputs[i]->dtype())) wanted.push_back(attempt.sources[i]);
  }
  attempt.first_added = attempt.graph.id_limit();
  attempt.dxs.assign(attempt.sources.size(), Gradient());
  std::vector<Gradient> dys;
  for (const Output& seed : attempt.seeds) dys.push_back(seed.is_set() ? Gradient::Dense(seed) : Gradient());
  const GradientRegion region(attempt.graph, attempt.outputs, wanted, {});
  ForwardFacts facts(attempt.graph, region);
  GradientEmitter emitter(attempt.graph, facts, "gradient", /*colocate=*/false);
  const NodeId node = attempt.outputs[0].node;
  emitter.BeginNode(node);
  GradientContext context(emitter, facts, node, dys, absl::MakeSpan(attempt.dxs));
  const GradientRow* const row = call_.op.row();
  if (row == nullptr) {
    return call_.op.node().Locate(Error(ErrorCode::kTapeNoDerivative).Text("no gradient is registered for this op"));
  }
  if (row->kind == GradientRow::Kind::kRefused) {
    return call_.op.node().Locate(
        Error(ErrorCode::kTapeNoDerivative).Text("this op has no gradient, as in TensorFlow"));
  }
  if (row->kind == GradientRow::Kind::kControlFlow) return NoDerivative(context.Refuse("it is control flow"));
  if (row->kind == GradientRow::Kind::kFunction) {
    const absl::Status called = row->function(context);
    SLUICE_RETURN_IF_ERROR(attempt.graph.Locate(node, emitter.status()));
    SLUICE_RETURN_IF_ERROR(NoDerivative(called));
  }
  for (size_t i = 0; i < attempt.dxs.size(); ++i) {
    Gradient& dx = attempt.dxs[i];
    if (!wants_.Has(i)) dx = Gradient();
    if (dx.is_slices()) dx = Gradient::Dense(emitter.Here(emitter.Dense(dx, emitter.Forward(attempt.sources[i]))));
  }
  SLUICE_RETURN_IF_ERROR(attempt.graph.Locate(node, emitter.status()));
  KeepAnswers(facts, attempt);
  return absl::OkStatus();
}

void GradientMaker::KeepAnswers(ForwardFacts& facts, Attempt& attempt) {
  attempt.questions = facts.questions();
  for (const ForwardFacts::Question& question : attempt.questions) {
    using Kind = ForwardFacts::Question::Kind;
    const bool is_shape = question.kind == Kind::kShape;
    attempt.shapes.push_back(is_shape ? facts.Shape(question.of) : PartialShape());
    attempt.same.push_back(question.kind == Kind::kSameShape && facts.HaveSameShape(question.of, question.other));
    attempt.integers.push_back(question.kind == Kind::kConstant ? facts.Integers(question.of) : std::nullopt);
  }
}

int64_t GradientMaker::ValueOf(const Attempt& attempt, const Output& output) const {
  for (size_t i = 0; i < attempt.sources.size(); ++i) {
    if (attempt.sources[i] == output) return static_cast<int64_t>(i);
  }
  for (size_t i = 0; i < attempt.outputs.size(); ++i) {
    if (attempt.outputs[i] == output || attempt.seeds[i] == output) {
      return static_cast<int64_t>(attempt.sources.size() + i);
    }
  }
  return -1;
}

const Shape& GradientMaker::ShapeOf(uint32_t value) const {
  return (value < call_.inputs.size() ? call_.inputs[value] : call_.outputs[value - call_.inputs.size()])->shape();
}

bool GradientMaker::MayBeConstant(size_t input) const {
  const Tensor& value = *call_.inputs[input];
  return (value.dtype() == DType::kInt32 || value.dtype() == DType::kInt64) && value.rank() <= 1 &&
         value.num_elements() <= kMaxConstantElements;
}

bool GradientMaker::LearnConstants(const Attempt& attempt) {
  bool has_learnt = false, lacks_shape = false;
  for (size_t q = 0; q < attempt.questions.size(); ++q) {
    const ForwardFacts::Question& question = attempt.questions[q];
    const int64_t of = ValueOf(attempt, question.of);
    if (of < 0) continue;
    if (question.kind == ForwardFacts::Question::Kind::kShape && !attempt.shapes[q].IsFullyDefined()) {
      lacks_shape = true;
    }
    if (question.kind != ForwardFacts::Question::Kind::kConstant) continue;
    const auto input = static_cast<size_t>(of);
    if (input >= is_constant_.size() || is_constant_[input] || !MayBeConstant(input)) continue;
    is_constant_[input] = true;
    has_learnt = true;
  }
  if (has_learnt || !lacks_shape) return has_learnt;
  for (size_t i = 0; i < is_constant_.size(); ++i) {
    if (is_constant_[i] || !MayBeConstant(i)) continue;
    is_constant_[i] = true;
    has_learnt = true;
  }
  return has_learnt;
}

void GradientMaker::MarkNeeded(const Attempt& attempt) {
  const int32_t first = attempt.first_added;
  serves_.assign(static_cast<size_t>(attempt.graph.id_limit() - first), SlotSet());
  for (size_t i = 0; i < attempt.dxs.size(); ++i) {
    const Gradient& dx = attempt.dxs[i];
    if (dx.is_set() && dx.value.node.value() >= first)
      serves_[static_cast<size_t>(dx.value.node.value() - first)].Add(i);
  }
  // Nodes come after their inputs, so visit them in reverse.
  for (int32_t id = attempt.graph.id_limit() - 1; id >= first; --id) {
    for (const Output& input : attempt.graph.inputs(NodeId(id))) {
      if (input.node.value() < first) continue;
      serves_[static_cast<size_t>(input.node.value() - first)].AddAll(serves_[static_cast<size_t>(id - first)]);
    }
  }
}

Operand GradientMaker::Place(const Attempt& attempt, const Output& output) {
  const auto known = places_.find(output);
  if (known != places_.end()) return known->second;
  // A forward value that no step has read before: save it.
  const auto value = static_cast<uint32_t>(ValueOf(attempt, output));
  const auto num_inputs = static_cast<uint32_t>(attempt.sources.size());
  const Operand place(Operand::Table::kSlots, static_cast<uint32_t>(made_->saved_.size()));
  made_->saves_outputs_ = made_->saves_outputs_ || value >= num_inputs;
  made_->saved_.push_back({value >= num_inputs, value >= num_inputs ? value - num_inputs : value});
  places_.try_emplace(output, place);
  return place;
}

absl::Status GradientMaker::WriteSteps(const Attempt& attempt) {
  MarkNeeded(attempt);
  const int32_t first = attempt.first_added, limit = attempt.graph.id_limit();
  // The gradients come after all saved values, so find those first.
  const auto find_saved = [&](const Output& output) {
    if (output.node.value() >= first) return;
    for (const Output& seed : attempt.seeds) {
      if (seed == output) return;
    }
    Place(attempt, output);
  };
  for (int32_t id = first; id < limit; ++id) {
    if (serves_[static_cast<size_t>(id - first)].empty()) continue;
    for (const Output& input : attempt.graph.inputs(NodeId(id))) find_saved(input);
  }
  for (const Gradient& dx : attempt.dxs) {
    if (dx.is_set()) find_saved(dx.value);
  }
  made_->num_values_ = made_->saved_.size();
  for (size_t i = 0; i < attempt.seeds.size(); ++i) {
    if (!attempt.seeds[i].is_set()) continue;
    made_->dy_slots_.push_back(static_cast<uint32_t>(i));
    places_.try_emplace(attempt.seeds[i], Operand(Operand::Table::kSlots, static_cast<uint32_t>(made_->num_values_++)));
  }
  for (int32_t id = first; id < limit; ++id) {
    if (!serves_[static_cast<size_t>(id - first)].empty()) SLUICE_RETURN_IF_ERROR(WriteStep(attempt, NodeId(id)));
  }
  for (const Gradient& dx : attempt.dxs) {
    made_->dxs_.push_back(dx.is_set() ? std::optional<Operand>(Place(attempt, dx.value)) : std::nullopt);
  }
  made_->constants_ = std::make_unique<Entry[]>(constants_.size() + 1);
  for (size_t i = 0; i < constants_.size(); ++i) made_->constants_[i].SetValue(std::move(constants_[i]));
  MarkLastUses();
  return absl::OkStatus();
}

absl::Status GradientMaker::WriteConstant(const Attempt& attempt, NodeId id) {
  EagerOp::Attrs attrs;
  for (const NamedAttr& attr : attempt.graph.attrs(id)) {
    attrs.emplace_back(std::string(attr.name), AttrValue::FromBytes(attr.value.bytes()));
  }
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const EagerOp> op, ops_.Find("Const", attrs, {}));
  Entry value;
  SLUICE_RETURN_IF_ERROR(op->Run(RunContext(), &value));
  places_.try_emplace(Output{id, 0}, Operand(Operand::Table::kConstants, static_cast<uint32_t>(constants_.size())));
  constants_.push_back(value.value());
  return absl::OkStatus();
}

absl::Status GradientMaker::WriteStep(const Attempt& attempt, NodeId id) {
  const Graph& graph = attempt.graph;
  if (graph.Is(id, "Const")) return WriteConstant(attempt, id);
  EagerOp::Attrs attrs;
  for (const NamedAttr& attr : graph.attrs(id)) {
    attrs.emplace_back(std::string(attr.name), AttrValue::FromBytes(attr.value.bytes()));
  }
  std::vector<DType> types;
  std::vector<Operand> operands;
  for (const Output& input : graph.inputs(id)) {
    types.push_back(BaseType(graph.output_type(input.node, input.index)));
    operands.push_back(Place(attempt, input));
  }
  GradientTemplate::Step step;
  SLUICE_ASSIGN_OR_RETURN(step.op, ops_.Find(graph.op_name(id), attrs, types));
  step.serves = serves_[static_cast<size_t>(id.value() - attempt.first_added)];
  for (int32_t i = 0; i < graph.num_outputs(id); ++i) {
    const Operand place(Operand::Table::kSlots, static_cast<uint32_t>(made_->num_values_++));
    places_.try_emplace(Output{id, i}, place);
    operands.push_back(place);
  }
  step.io.num_inputs = step.op->num_inputs();
  step.io.num_outputs = step.op->num_outputs();
  step.io.input_types = step.op->node().signature().inputs.data();
  step.io.output_types = step.op->node().signature().outputs.data();
  made_->operands_.push_back(std::move(operands));
  step.io.operands = made_->operands_.back().data();  // Moves with the vector.
  made_->steps_.push_back(std::move(step));
  return absl::OkStatus();
}

void GradientMaker::MarkLastUses() {
  std::vector<bool> is_read_later(made_->num_values_, false);
  const auto is_value = [](Operand operand) { return operand.table() == Operand::Table::kSlots; };
  for (const std::optional<Operand>& dx : made_->dxs_) {
    if (dx.has_value() && is_value(*dx)) is_read_later[dx->index()] = true;
  }
  for (size_t s = made_->steps_.size(); s-- > 0;) {
    const uint32_t num_inputs = made_->steps_[s].io.num_inputs;
    std::vector<Operand>& operands = made_->operands_[s];
    // Backwards, so that a value which the step reads twice is consumed at its last input.
    for (uint32_t i = num_inputs; i-- > 0;) {
      const Operand operand = operands[i];
      if (!is_value(operand)) continue;
      const auto is_same = [&](const Operand& o) { return is_value(o) && o.index() == operand.index(); };
      const bool is_only = std::count_if(operands.begin(), operands.begin() + num_inputs, is_same) == 1;
      if (is_only && !is_read_later[operand.index()]) {
        operands[i] = Operand(Operand::Table::kSlots, operand.index(), /*is_last_use=*/true);
      }
    }
    for (uint32_t i = 0; i < num_inputs; ++i) {
      if (is_value(operands[i])) is_read_later[operands[i].index()] = true;
    }
  }
}

void GradientMaker::WriteFacts(const Attempt& attempt) {
  using Fact = GradientTemplate::Fact;
  for (size_t q = 0; q < attempt.questions.size(); ++q) {
    const ForwardFacts::Question& question = attempt.questions[q];
    const int64_t of = ValueOf(attempt, question.of), other = ValueOf(attempt, question.other);
    if (of < 0) continue;
    Fact fact;
    fact.of = static_cast<uint32_t>(of);
    switch (question.kind) {
      case ForwardFacts::Question::Kind::kShape:
        fact.kind = Fact::Kind::kShape;
        fact.shape = attempt.shapes[q];
        break;
      case ForwardFacts::Question::Kind::kSameShape:
        if (other < 0) continue;
        fact.kind = Fact::Kind::kSameShape;
        fact.other = static_cast<uint32_t>(other);
        fact.are_same = attempt.same[q];
        // Skip facts that inference did not know: the row did not use them.
        if (!fact.are_same && ShapeOf(fact.of) == ShapeOf(fact.other)) continue;
        break;
      case ForwardFacts::Question::Kind::kConstant:
        fact.kind = Fact::Kind::kIntegers;
        fact.integers = attempt.integers[q];
        break;
    }
    made_->facts_.push_back(std::move(fact));
  }
}

}  // namespace sluice
