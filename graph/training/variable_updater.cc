#include "graph/training/variable_updater.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/edit/graph_editor.h"

namespace sluice {
namespace {

using Kind = Optimizer::Kind;

bool IsAdam(const Optimizer& optimizer) { return optimizer.kind == Kind::kAdam || optimizer.kind == Kind::kAdamW; }

}  // namespace

bool VariableUpdater::TakesRows(const TrainStepOptions& options) {
  return options.rows == RowRule::kLazy || (options.rows == RowRule::kTensorFlow && !IsAdam(options.optimizer));
}

NodeId VariableUpdater::Update(std::vector<Trained> all, NodeId ready) {
  AddPowers(all);
  std::vector<Target> targets;
  for (Trained& one : all) {
    std::vector<VariableNode> slots = AddSlots(one.variable);
    targets.push_back({std::move(one), std::move(slots)});
  }
  {
    const GraphEditor::Scope after = nodes_.edit().After({ready});
    for (const Target& target : targets) ReadPowers(target.trained.variable.dtype());
  }
  for (const Target& target : targets) UpdateOne(target, ready);
  AdvancePowers();
  return nodes_.Group("updates", updates_);
}

void VariableUpdater::AddPowers(const std::vector<Trained>& all) {
  // Beside the first variable by name, as in TensorFlow.
  const auto first = std::min_element(all.begin(), all.end(), [&](const Trained& a, const Trained& b) {
    return nodes_.NameOf(a.variable) < nodes_.NameOf(b.variable);
  });
  for (const UpdateArg arg : form_.dense) {
    const bool is_second = arg == UpdateArg::kBeta2Power;
    if (arg != UpdateArg::kBeta1Power && !is_second) continue;
    const double beta = is_second ? options_.optimizer.beta2 : options_.optimizer.beta1;
    const VariableNode power = nodes_.AddState(first->variable, is_second ? "beta2_power" : "beta1_power",
                                               DType::kFloat, PartialShape::Scalar());
    nodes_.BeginWithScalar(power, beta);
    powers_.push_back({power, beta, {}});
  }
}

std::vector<VariableNode> VariableUpdater::AddSlots(const VariableNode& variable) {
  std::vector<VariableNode> slots;
  if (form_.slots.empty()) return slots;
  const Output shape = nodes_.ShapeOf(variable);
  for (const SlotStart start : form_.slots) {
    const double value = start == SlotStart::kZeros  ? 0
                         : start == SlotStart::kOnes ? 1
                                                     : options_.optimizer.initial_accumulator;
    const std::string name = absl::StrCat(nodes_.NameOf(variable), "/", form_.slot_name);
    slots.push_back(nodes_.AddState(variable, name, variable.dtype(), variable.shape()));
    nodes_.BeginWith(slots.back(), shape, value);
  }
  return slots;
}

void VariableUpdater::UpdateOne(const Target& target, NodeId ready) {
  const VariableNode& variable = target.trained.variable;
  const TrainNodes::Scope scope = nodes_.In(absl::StrCat("update_", nodes_.NameOf(variable)), variable);
  Target now = target;
  const std::vector<NodeId>& exempt = options_.not_decayed;
  const bool decays = std::find(exempt.begin(), exempt.end(), variable.id()) == exempt.end() &&
                      (options_.weight_decay > 0 || options_.optimizer.kind == Kind::kAdamW);
  if (now.trained.gradient.is_slices()) {
    // Plain descent adds rows up itself.
    const bool is_plain = options_.optimizer.kind == Kind::kSgd && !decays;
    if (!TakesRows(options_)) {
      MakeDense(nodes_, &now.trained);
    } else if (!is_plain) {
      AddUpRows(nodes_, &now.trained);
    }
  }
  const GraphEditor::Scope after = nodes_.edit().After({ready});
  const std::vector<NodeId> first = decays ? Decay(now.trained) : std::vector<NodeId>();
  const GraphEditor::Scope after_decay = nodes_.edit().After(first);
  if (now.trained.gradient.is_slices() && form_.sparse.empty()) {
    for (const NodeId id : ApplyToRows(now)) updates_.push_back(id);
  } else {
    updates_.push_back(Apply(now));
  }
}

// w -= w * weight_decay * lr, of all rows or of those with a gradient.
std::vector<NodeId> VariableUpdater::Decay(const Trained& one) {
  const VariableNode& variable = one.variable;
  GraphEditor& edit = nodes_.edit();
  const bool is_adamw = options_.optimizer.kind == Kind::kAdamW;
  const Expr decay =
      nodes_.ExactNumber(variable.dtype(), is_adamw ? options_.optimizer.weight_decay : options_.weight_decay);
  const Expr rate = rate_.As(variable.dtype());
  if (one.gradient.is_slices() && options_.rows == RowRule::kLazy) {
    const Expr rows = nodes_.Value(variable.ReadRows(edit, one.gradient.indices));
    return {variable.ChangeRows(edit, "ScatterSub", one.gradient.indices, (rows * decay * rate).output())};
  }
  return {variable.Subtract(edit, (nodes_.Value(variable.Read(edit)) * decay * rate).output())};
}

NodeId VariableUpdater::Apply(const Target& target) {
  const VariableNode& variable = target.trained.variable;
  const Gradient& gradient = target.trained.gradient;
  std::vector<Output> inputs = {variable.output()};
  for (const int slot : form_.slot_order) inputs.push_back(target.slots[static_cast<size_t>(slot)].output());
  for (const UpdateArg arg : gradient.is_slices() ? form_.sparse : form_.dense) {
    inputs.push_back(ArgOf(arg, target.trained).output());
  }
  AttrList attrs = {{"T", variable.dtype()}};
  if (options_.optimizer.kind == Kind::kMomentum) attrs.emplace_back("use_nesterov", options_.optimizer.nesterov);
  const std::string op =
      absl::StrCat(variable.is_resource() ? "Resource" : "", gradient.is_slices() ? "Sparse" : "", "Apply", form_.op);
  return nodes_.edit().Add(op, "apply", inputs, attrs).node;
}

std::vector<NodeId> VariableUpdater::ApplyToRows(const Target& target) {
  const VariableNode& variable = target.trained.variable;
  const Output& indices = target.trained.gradient.indices;
  GraphEditor& edit = nodes_.edit();
  const Expr g = ArgOf(UpdateArg::kGradient, target.trained);
  const Expr rate = rate_.As(variable.dtype());
  const auto change = [&](const VariableNode& changed, absl::string_view op, const Expr& rows) {
    return changed.ChangeRows(edit, op, indices, rows.output());
  };
  if (options_.optimizer.kind == Kind::kSgd) return {change(variable, "ScatterSub", g * rate)};
  const auto arg = [&](UpdateArg which) { return ArgOf(which, target.trained); };
  const Expr one = nodes_.Number(variable.dtype(), 1);
  const Expr beta1 = arg(UpdateArg::kBeta1), beta2 = arg(UpdateArg::kBeta2), epsilon = arg(UpdateArg::kEpsilon);
  const Expr old_m = nodes_.Value(target.slots[0].ReadRows(edit, indices));
  const Expr old_v = nodes_.Value(target.slots[1].ReadRows(edit, indices));
  const Expr m = old_m * beta1 + g * (one - beta1);
  Expr v, by;
  if (options_.optimizer.kind == Kind::kAdaMax) {
    v = Maximum(old_v * beta2, Abs(g));
    by = rate / (one - arg(UpdateArg::kBeta1Power)) * (m / (v + epsilon));
  } else {
    v = old_v * beta2 + g * g * (one - beta2);
    const Expr scaled = rate * Sqrt(one - arg(UpdateArg::kBeta2Power)) / (one - arg(UpdateArg::kBeta1Power));
    by = scaled * m / (Sqrt(v) + epsilon);
  }
  return {change(target.slots[0], "ScatterUpdate", m), change(target.slots[1], "ScatterUpdate", v),
          change(variable, "ScatterSub", by)};
}

Expr VariableUpdater::ArgOf(UpdateArg arg, const Trained& one) {
  const Optimizer& o = options_.optimizer;
  const DType type = one.variable.dtype();
  switch (arg) {
    case UpdateArg::kGradient:
      return nodes_.Value(one.gradient.value);
    case UpdateArg::kIndices:
      return nodes_.Value(one.gradient.indices);
    case UpdateArg::kLearningRate:
      return rate_.As(type);
    case UpdateArg::kBeta1Power:
    case UpdateArg::kBeta2Power:
      return PowerOf(arg, type);
    case UpdateArg::kMomentum:
      return nodes_.Number(type, o.momentum);
    case UpdateArg::kRho:
      return nodes_.Number(type, o.rho);
    case UpdateArg::kDecay:
      return nodes_.Number(type, o.decay);
    case UpdateArg::kEpsilon:
      return nodes_.Number(type, o.epsilon);
    case UpdateArg::kBeta1:
      return nodes_.Number(type, o.beta1);
    case UpdateArg::kBeta2:
      return nodes_.Number(type, o.beta2);
    case UpdateArg::kL1:
      return nodes_.Number(type, o.l1);
    case UpdateArg::kL2:
      return nodes_.Number(type, o.l2);
    case UpdateArg::kL2Shrinkage:
      return nodes_.Number(type, o.l2_shrinkage);
    case UpdateArg::kLearningRatePower:
      return nodes_.Number(type, o.learning_rate_power);
  }
  return Expr();
}

void VariableUpdater::ReadPowers(DType type) {
  for (Power& power : powers_) {
    const TrainNodes::Scope scope = nodes_.In("powers", power.variable);
    if (power.values.empty()) {
      power.values.emplace_back(DType::kFloat, nodes_.Value(power.variable.Read(nodes_.edit())));
    }
    const bool is_known =
        std::any_of(power.values.begin(), power.values.end(), [&](const auto& value) { return value.first == type; });
    if (!is_known) power.values.emplace_back(type, Cast(power.values[0].second, type));
  }
}

Expr VariableUpdater::PowerOf(UpdateArg arg, DType type) {
  for (const auto& [known, value] : powers_[arg == UpdateArg::kBeta2Power ? 1 : 0].values) {
    if (known == type) return value;
  }
  return Expr();
}

// For the next step, once all updates have read them.
void VariableUpdater::AdvancePowers() {
  const GraphEditor::Scope after = nodes_.edit().After(std::vector<NodeId>(updates_));
  for (const Power& power : powers_) {
    const TrainNodes::Scope scope = nodes_.In("powers", power.variable);
    const Expr next = power.values[0].second * nodes_.Number(DType::kFloat, power.beta);
    updates_.push_back(power.variable.Assign(nodes_.edit(), next.output()));
  }
}

}  // namespace sluice
