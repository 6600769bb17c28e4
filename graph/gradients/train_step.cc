#include "graph/gradients/train_step.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/edit/graph_editor.h"
#include "graph/gradients/update_forms.h"
#include "graph/gradients/variable_node.h"

namespace sluice {
namespace {

bool IsTrainable(DType type) {
  return type == DType::kFloat || type == DType::kDouble || type == DType::kHalf || type == DType::kBFloat16;
}

AttrList ConstAttrs(const Tensor& value) { return {{"dtype", value.dtype()}, {"value", value}}; }

// A variable and what it is changed by.
struct Trained {
  VariableNode variable;
  Gradient gradient;
};

// Adds one training step. Borrows all it is made of.
class StepWriter {
 public:
  StepWriter(Graph& graph, const TrainStepOptions& options)
      : graph_(graph), edit_(graph), options_(options), form_(FormOf(options.optimizer)) {}

  absl::StatusOr<TrainStep> Write(const Output& loss, std::vector<Trained> trained) {
    if (UsesPowers()) AddPowers(trained[0].variable);
    if (options_.clip_norm > 0) Clip(&trained);
    std::vector<NodeId> computed = {loss.node};
    for (const Trained& one : trained) computed.push_back(one.gradient.value.node);
    computed_ = Group(absl::StrCat(options_.name, "/gradients"), computed);
    for (const Trained& one : trained) Update(one);
    AdvancePowers();
    NodeId last =
        Group(options_.global_step.valid() ? absl::StrCat(options_.name, "/updates") : options_.name, updates_);
    if (options_.global_step.valid()) {
      SLUICE_ASSIGN_OR_RETURN(const VariableNode count, VariableNode::Find(graph_, options_.global_step));
      last = Group(options_.name, {CountStep(count, last)});
    }
    TrainStep step;
    step.init = Group(absl::StrCat(options_.name, "/init"), inits_);
    step.update = last;
    step.slots = std::move(slots_);
    SLUICE_RETURN_IF_ERROR(edit_.status());
    return step;
  }

 private:
  bool UsesPowers() const {
    return std::find(form_.dense.begin(), form_.dense.end(), UpdateArg::kBeta1Power) != form_.dense.end();
  }
  DType TypeOf(const Output& output) const {
    return output.is_set() ? BaseType(graph_.output_type(output.node, output.index)) : DType::kInvalid;
  }
  Output Number(DType type, double value) {
    if (type == DType::kDouble) return edit_.Add("Const", "", {}, ConstAttrs(Tensor::Scalar(value)));
    return Cast(edit_.Add("Const", "", {}, ConstAttrs(Tensor::Scalar(static_cast<float>(value)))), type);
  }
  Output Cast(const Output& value, DType type) {
    if (!value.is_set() || TypeOf(value) == type) return value;
    return edit_.Add("Cast", "", {value}, {{"SrcT", TypeOf(value)}, {"DstT", type}});
  }
  NodeId Group(const std::string& name, const std::vector<NodeId>& nodes) {
    const GraphEditor::Scope scope = edit_.After(nodes);
    return edit_.Add("NoOp", name, {}).node;
  }

  // Scales all gradients by clip_norm / max(norm, clip_norm). The norm is one of doubles where a gradient is, else of
  // floats; rows that repeat count each.
  void Clip(std::vector<Trained>* trained) {
    const GraphEditor::Scope scope = edit_.InName(absl::StrCat(options_.name, "/clip"));
    const bool has_double = std::any_of(trained->begin(), trained->end(),
                                        [](const Trained& one) { return one.variable.dtype() == DType::kDouble; });
    const DType type = has_double ? DType::kDouble : DType::kFloat;
    std::vector<Output> halves;
    for (const Trained& one : *trained) halves.push_back(edit_.Add("L2Loss", "", {Cast(one.gradient.value, type)}));
    const Output sum = edit_.Add("AddN", "", halves, {{"N", static_cast<int64_t>(halves.size())}});
    const Output norm = edit_.Add("Sqrt", "norm", {edit_.Add("Mul", "", {sum, Number(type, 2)})});
    const Output limit = Number(type, options_.clip_norm);
    const Output scale = edit_.Add("RealDiv", "scale", {limit, edit_.Add("Maximum", "", {norm, limit})});
    for (Trained& one : *trained) {
      Output& value = one.gradient.value;
      value = edit_.Add("Mul", "", {value, Cast(scale, TypeOf(value))});
    }
  }

  void Update(const Trained& one) {
    std::vector<VariableNode> slots;
    for (const SlotStart start : form_.slots) slots.push_back(AddSlot(one.variable, start));
    const std::string of_variable(graph_.name(one.variable.id()));
    const GraphEditor::Scope place = edit_.OnDevice(std::string(graph_.device(one.variable.id())));
    const GraphEditor::Scope name = edit_.InName(absl::StrCat(options_.name, "/update_", of_variable));
    const bool takes_rows = !form_.sparse.empty() || options_.optimizer.kind == Optimizer::Kind::kSgd;
    Gradient gradient = one.gradient;
    if (gradient.is_slices()) gradient = takes_rows ? AddUpRows(gradient) : Dense(one.variable, gradient);
    const GraphEditor::Scope after = edit_.After({computed_});
    std::vector<NodeId> first;
    if (options_.optimizer.kind == Optimizer::Kind::kAdamW) first.push_back(Decay(one.variable));
    const GraphEditor::Scope after_decay = edit_.After(first);
    if (gradient.is_slices() && form_.sparse.empty()) {
      const Output change = edit_.Add("Mul", "", {gradient.value, LearningRate(one.variable.dtype())});
      updates_.push_back(one.variable.SubtractRows(edit_, gradient.indices, change));
    } else {
      updates_.push_back(Apply(one.variable, slots, gradient));
    }
  }

  VariableNode AddSlot(const VariableNode& variable, SlotStart start) {
    const std::string name = edit_.UniqueName(absl::StrCat(graph_.name(variable.id()), "/", form_.slot_name));
    const VariableNode slot = variable.AddAnother(edit_, name, variable.dtype(), variable.shape());
    const GraphEditor::Scope place = edit_.OnDevice(std::string(graph_.device(variable.id())));
    const GraphEditor::Scope scope = edit_.InName(name);
    const double value = start == SlotStart::kZeros  ? 0
                         : start == SlotStart::kOnes ? 1
                                                     : options_.optimizer.initial_accumulator;
    Begin(slot, edit_.Add("Fill", "", {variable.ReadShape(edit_), Number(variable.dtype(), value)}));
    return slot;
  }
  void Begin(const VariableNode& slot, const Output& value) {
    slots_.push_back(slot.id());
    inits_.push_back(slot.Assign(edit_, value));
  }

  // Rows that are told twice become one, which is their sum.
  Gradient AddUpRows(const Gradient& rows) {
    const DType indices = TypeOf(rows.indices);
    const Output unique = edit_.Add("Unique", "", {rows.indices}, {{"out_idx", indices}});
    const Output count = edit_.Add("Size", "", {unique}, {{"out_type", indices}});
    const Output sums = edit_.Add("UnsortedSegmentSum", "", {rows.value, GraphEditor::Nth(unique, 1), count});
    return Gradient::Slices(sums, unique, kNoOutput);
  }
  Gradient Dense(const VariableNode& variable, const Gradient& rows) {
    const auto one = [this](int64_t value) {
      return edit_.Add("Const", "", {}, ConstAttrs(Tensor::Vector<int64_t>({value})));
    };
    const Output shape = variable.ReadShape(edit_);
    const Output count = edit_.Add("StridedSlice", "rows", {shape, one(0), one(1), one(1)}, {{"shrink_axis_mask", 1}});
    return Gradient::Dense(edit_.Add("UnsortedSegmentSum", "", {rows.value, Cast(rows.indices, DType::kInt64), count}));
  }

  // w -= lr * weight_decay * w.
  NodeId Decay(const VariableNode& variable) {
    const DType type = variable.dtype();
    const Output rate = edit_.Add("Mul", "", {LearningRate(type), Number(type, options_.optimizer.weight_decay)});
    return variable.Subtract(edit_, edit_.Add("Mul", "decay", {rate, variable.Read(edit_)}));
  }

  NodeId Apply(const VariableNode& variable, const std::vector<VariableNode>& slots, const Gradient& gradient) {
    std::vector<Output> inputs = {variable.output()};
    for (const int slot : form_.slot_order) inputs.push_back(slots[static_cast<size_t>(slot)].output());
    for (const UpdateArg arg : gradient.is_slices() ? form_.sparse : form_.dense) {
      inputs.push_back(ArgOf(arg, variable, gradient));
    }
    AttrList attrs = {{"T", variable.dtype()}};
    if (options_.optimizer.kind == Optimizer::Kind::kMomentum) {
      attrs.emplace_back("use_nesterov", options_.optimizer.nesterov);
    }
    if (gradient.is_slices()) attrs.emplace_back("Tindices", TypeOf(gradient.indices));
    const std::string op =
        absl::StrCat(variable.is_resource() ? "Resource" : "", gradient.is_slices() ? "Sparse" : "", "Apply", form_.op);
    return edit_.Add(op, "apply", inputs, attrs).node;
  }

  Output ArgOf(UpdateArg arg, const VariableNode& variable, const Gradient& gradient) {
    const Optimizer& o = options_.optimizer;
    switch (arg) {
      case UpdateArg::kGradient:
        return gradient.value;
      case UpdateArg::kIndices:
        return gradient.indices;
      case UpdateArg::kLearningRate:
        return LearningRate(variable.dtype());
      case UpdateArg::kBeta1Power:
        return PowerOf(variable, 0);
      case UpdateArg::kBeta2Power:
        return PowerOf(variable, 1);
      case UpdateArg::kMomentum:
        return Number(variable.dtype(), o.momentum);
      case UpdateArg::kRho:
        return Number(variable.dtype(), o.rho);
      case UpdateArg::kDecay:
        return Number(variable.dtype(), o.decay);
      case UpdateArg::kEpsilon:
        return Number(variable.dtype(), o.epsilon);
      case UpdateArg::kBeta1:
        return Number(variable.dtype(), o.beta1);
      case UpdateArg::kBeta2:
        return Number(variable.dtype(), o.beta2);
      case UpdateArg::kL1:
        return Number(variable.dtype(), o.l1);
      case UpdateArg::kL2:
        return Number(variable.dtype(), o.l2);
      case UpdateArg::kL2Shrinkage:
        return Number(variable.dtype(), o.l2_shrinkage);
      case UpdateArg::kLearningRatePower:
        return Number(variable.dtype(), o.learning_rate_power);
    }
    return kNoOutput;
  }

  Output LearningRate(DType type) {
    if (options_.learning_rate_tensor.is_set()) return Cast(options_.learning_rate_tensor, type);
    return Number(type, options_.learning_rate);
  }

  // beta1 and beta2 to the power of the number of this step: variables that all of Adam's updates read.
  void AddPowers(const VariableNode& like) {
    const DType type = like.dtype() == DType::kDouble ? DType::kDouble : DType::kFloat;
    const Optimizer& o = options_.optimizer;
    for (const auto& [name, beta] : {std::pair("beta1_power", o.beta1), std::pair("beta2_power", o.beta2)}) {
      const std::string free = edit_.UniqueName(name);
      const VariableNode power = like.AddAnother(edit_, free, type, PartialShape::Scalar());
      const GraphEditor::Scope scope = edit_.InName(free);
      Begin(power, Number(type, beta));
      powers_.push_back({power, beta});
    }
  }
  Output PowerOf(const VariableNode& of, size_t which) { return Cast(powers_[which].variable.Read(edit_), of.dtype()); }
  // For the next step, once all updates have read them.
  void AdvancePowers() {
    const GraphEditor::Scope scope = edit_.InName(absl::StrCat(options_.name, "/powers"));
    const GraphEditor::Scope after = edit_.After(std::vector<NodeId>(updates_));
    for (const Power& power : powers_) {
      const DType type = power.variable.dtype();
      const Output next = edit_.Add("Mul", "", {power.variable.Read(edit_), Number(type, power.beta)});
      updates_.push_back(power.variable.Assign(edit_, next));
    }
  }

  NodeId CountStep(const VariableNode& count, NodeId updates) {
    const GraphEditor::Scope scope = edit_.InName(absl::StrCat(options_.name, "/global_step"));
    const Output one = edit_.Add("Const", "", {}, ConstAttrs(Tensor::Scalar<int32_t>(1)));
    const Output step = Cast(one, count.dtype());
    const GraphEditor::Scope after = edit_.After({updates});
    return count.Add(edit_, step);
  }

  struct Power {
    VariableNode variable;
    double beta = 0;
  };

  Graph& graph_;
  GraphEditor edit_;
  const TrainStepOptions& options_;
  const UpdateForm& form_;
  NodeId computed_;  // Waits for the loss and all gradients.
  std::vector<Power> powers_;
  std::vector<NodeId> slots_, inits_, updates_;
};

absl::Status CheckLoss(const Graph& graph, const Output& loss) {
  if (!graph.Contains(loss.node) || loss.is_control() || loss.index >= graph.num_outputs(loss.node)) {
    return Error(ErrorCode::kNodeMissing).Text("is to be the loss of a training step, and the graph does not have it");
  }
  const DType type = BaseType(graph.output_type(loss.node, loss.index));
  if (IsTrainable(type)) return absl::OkStatus();
  return graph.Locate(
      loss.node,
      Error(ErrorCode::kInputType).Text("is to be a loss, which must be a real number").Found(DTypeName(type)));
}

absl::StatusOr<std::vector<VariableNode>> FindVariables(const Graph& graph, absl::Span<const NodeId> ids) {
  std::vector<VariableNode> variables;
  for (const NodeId id : ids) {
    SLUICE_ASSIGN_OR_RETURN(const VariableNode variable, VariableNode::Find(graph, id));
    if (!IsTrainable(variable.dtype())) {
      return graph.Locate(id, Error(ErrorCode::kInputType)
                                  .Text("is to be trained, and no optimizer takes its type")
                                  .Found(DTypeName(variable.dtype())));
    }
    variables.push_back(variable);
  }
  return variables;
}

}  // namespace

absl::StatusOr<TrainStep> AddTrainStep(Graph& graph, const Output& loss, absl::Span<const NodeId> variables,
                                       const TrainStepOptions& options) {
  SLUICE_RETURN_IF_ERROR(CheckLoss(graph, loss));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<VariableNode> found, FindVariables(graph, variables));
  std::vector<Output> xs;
  for (const VariableNode& variable : found) xs.push_back(variable.output());
  Graph changed = graph;
  SLUICE_ASSIGN_OR_RETURN(const GradientResult gradients, AddGradients(changed, {loss}, xs, options.gradients));
  std::vector<Trained> trained;
  for (size_t i = 0; i < found.size(); ++i) {
    if (gradients.xs[i].is_set()) trained.push_back({found[i], gradients.xs[i]});
  }
  if (trained.empty()) {
    return graph.Locate(
        loss.node,
        Error(ErrorCode::kUnsupported).Text("is a loss that depends on none of the variables to be trained"));
  }
  // The loss and the rate may be what calls gave, which have other nodes now.
  const auto now = [&](const Output& output) {
    if (!output.is_set() || changed.Contains(output.node)) return output;
    return Output{changed.Find(graph.name(output.node)), output.index};
  };
  TrainStepOptions options_now = options;
  options_now.learning_rate_tensor = now(options.learning_rate_tensor);
  SLUICE_ASSIGN_OR_RETURN(TrainStep step, StepWriter(changed, options_now).Write(now(loss), std::move(trained)));
  step.gradients = gradients.xs;
  graph = std::move(changed);
  return step;
}

}  // namespace sluice
