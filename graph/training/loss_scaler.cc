#include "graph/training/loss_scaler.h"

namespace sluice {

LossScaler::LossScaler(TrainNodes& nodes, const LossScaling& options, const VariableNode& like)
    : nodes_(nodes), options_(options) {
  if (!is_dynamic()) {
    scale_ = nodes_.Number(DType::kFloat, options_.scale);
    return;
  }
  scale_variable_ = nodes_.AddState(like, "current_loss_scale", DType::kFloat, PartialShape::Scalar());
  nodes_.BeginWithScalar(*scale_variable_, options_.scale);
  good_steps_ = nodes_.AddState(like, "good_steps", DType::kInt64, PartialShape::Scalar());
  nodes_.BeginWithScalar(*good_steps_, 0);
  const TrainNodes::Scope scope = nodes_.In("loss_scale", *scale_variable_);
  scale_ = nodes_.Value(scale_variable_->Read(nodes_.edit()));
}

Output LossScaler::SeedOf(const Output& loss) {
  const TrainNodes::Scope scope = nodes_.In("loss_scale");
  const Expr value = nodes_.Value(loss);
  return Fill(AddOp("Shape", {value}), Cast(scale_, value.type())).output();
}

void LossScaler::Unscale(absl::Span<Trained> all) {
  const TrainNodes::Scope scope = nodes_.In("loss_scale");
  const Expr reciprocal = nodes_.Number(DType::kFloat, 1) / scale_;
  for (Trained& one : all) {
    const Expr g = nodes_.Value(one.gradient.value);
    one.gradient.value = (g * Cast(reciprocal, g.type())).output();
  }
}

Expr LossScaler::AllFinite(absl::Span<const Trained> all) {
  const TrainNodes::Scope scope = nodes_.In("loss_scale");
  Exprs parts;
  for (const Trained& one : all) {
    const Expr g = nodes_.Value(one.gradient.value);
    const Expr axes = Range(Int32(g, 0), AddOp("Rank", {g}), Int32(g, 1));
    parts.push_back(AddOp("All", {AddOp("IsFinite", {g}), axes}));
  }
  return AddOp("All", {Pack(parts), Int32s(parts[0], {0})});
}

std::vector<NodeId> LossScaler::Adjust(const Expr& is_finite) {
  const TrainNodes::Scope scope = nodes_.In("loss_scale", *scale_variable_);
  GraphEditor& edit = nodes_.edit();
  const Expr factor = nodes_.Number(DType::kFloat, options_.factor);
  const Expr good = nodes_.Value(good_steps_->Read(edit)) + 1;
  const Expr is_due = GreaterEqual(good, Int64(good, options_.growth_steps));
  const Expr grown = scale_ * factor;
  const Expr kept_or_grown = Select(And(is_due, AddOp("IsFinite", {grown})), grown, scale_);
  const Expr shrunk = Maximum(scale_ / factor, nodes_.Number(DType::kFloat, 1));
  const Expr next = Select(is_finite, kept_or_grown, shrunk);
  const Expr next_good = Select(And(is_finite, Not(is_due)), good, Int64(good, 0));
  return {scale_variable_->Assign(edit, next.output()), good_steps_->Assign(edit, next_good.output())};
}

}  // namespace sluice
