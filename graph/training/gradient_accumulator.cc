#include "graph/training/gradient_accumulator.h"

#include "absl/strings/str_cat.h"
#include "graph/value/shape.h"

namespace sluice {

GradientAccumulator::Sum GradientAccumulator::AddSum(const Trained& one, bool keep_rows) {
  const VariableNode& variable = one.variable;
  const std::string name = absl::StrCat(nodes_.NameOf(variable), "/gradient_accumulator");
  const Output shape = nodes_.ShapeOf(variable);
  Sum sum = {nodes_.AddState(variable, name, variable.dtype(), variable.shape()), std::nullopt, shape, kNoOutput};
  nodes_.BeginWith(sum.total, shape, 0);
  if (!one.gradient.is_slices() || !keep_rows) return sum;
  {
    const TrainNodes::Scope scope = nodes_.In("accumulate", variable);
    sum.num_rows = SliceRange(nodes_.Value(shape), 0, 1).output();
  }
  const PartialShape& full = variable.shape();
  const int64_t num_rows = full.has_rank() && full.rank() > 0 ? full.dim(0) : -1;
  sum.rows = nodes_.AddState(variable, absl::StrCat(name, "_rows"), DType::kBool, PartialShape::Of({num_rows}));
  nodes_.BeginWith(*sum.rows, sum.num_rows, 0);
  return sum;
}

std::vector<NodeId> GradientAccumulator::AddTo(const Sum& sum, const Gradient& gradient) {
  GraphEditor& edit = nodes_.edit();
  if (!gradient.is_slices()) return {sum.total.Add(edit, gradient.value)};
  std::vector<NodeId> added = {sum.total.ChangeRows(edit, "ScatterAdd", gradient.indices, gradient.value)};
  if (!sum.rows.has_value()) return added;
  const Output yes = nodes_.ExactNumber(DType::kBool, 1).output();
  added.push_back(sum.rows->ChangeRows(edit, "ScatterUpdate", gradient.indices, yes));
  return added;
}

Expr GradientAccumulator::CountRun(const VariableNode& count, std::vector<NodeId>* done) {
  GraphEditor& edit = nodes_.edit();
  const Expr now = nodes_.Value(count.Read(edit)) + 1;
  const Expr is_last = GreaterEqual(now, Int64(now, num_runs_));
  done->push_back(count.Assign(edit, Select(is_last, Int64(now, 0), now).output()));
  return is_last;
}

void GradientAccumulator::TakeMean(const Sum& sum, Trained* one) {
  GraphEditor& edit = nodes_.edit();
  const DType type = one->variable.dtype();
  const Expr mean = nodes_.Value(sum.total.Read(edit)) / nodes_.Number(type, static_cast<double>(num_runs_));
  if (!sum.rows.has_value()) {
    one->gradient = Gradient::Dense(mean.output());
    return;
  }
  const Expr found = AddOp("Where", {nodes_.Value(sum.rows->Read(edit))});
  const Expr indices = Reshape(found, Int32s(found, {-1}));
  one->gradient = Gradient::Slices(Gather(mean, indices).output(), indices.output(), kNoOutput);
  one->has_unique_rows = true;
}

Branch GradientAccumulator::Add(NodeId ready, bool keep_rows, absl::Span<Trained> all) {
  for (const Trained& one : all) sums_.push_back(AddSum(one, keep_rows));
  const VariableNode& first = all[0].variable;
  const VariableNode count = nodes_.AddState(first, "accumulated_steps", DType::kInt64, PartialShape::Scalar());
  nodes_.BeginWithScalar(count, 0);
  std::vector<NodeId> done;
  const GraphEditor::Scope after = nodes_.edit().After({ready});
  for (size_t i = 0; i < all.size(); ++i) {
    const TrainNodes::Scope scope = nodes_.In("accumulate", all[i].variable);
    for (const NodeId id : AddTo(sums_[i], all[i].gradient)) done.push_back(id);
  }
  const TrainNodes::Scope scope = nodes_.In("accumulate", first);
  const Branch branch = nodes_.If(CountRun(count, &done));
  done.push_back(branch.taken.node);
  const GraphEditor::Scope complete = nodes_.edit().After({nodes_.Group("accumulated", done)});
  for (size_t i = 0; i < all.size(); ++i) {
    const TrainNodes::Scope place = nodes_.In("mean", all[i].variable);
    TakeMean(sums_[i], &all[i]);
  }
  return branch;
}

std::vector<NodeId> GradientAccumulator::Clear(NodeId updated) {
  const GraphEditor::Scope after = nodes_.edit().After({updated});
  std::vector<NodeId> cleared;
  for (const Sum& sum : sums_) {
    const TrainNodes::Scope scope = nodes_.In("clear", sum.total);
    const Expr zero = nodes_.ExactNumber(sum.total.dtype(), 0);
    cleared.push_back(sum.total.Assign(nodes_.edit(), Fill(nodes_.Value(sum.shape), zero).output()));
    if (!sum.rows.has_value()) continue;
    const Expr no = nodes_.ExactNumber(DType::kBool, 0);
    cleared.push_back(sum.rows->Assign(nodes_.edit(), Fill(nodes_.Value(sum.num_rows), no).output()));
  }
  return cleared;
}

}  // namespace sluice
