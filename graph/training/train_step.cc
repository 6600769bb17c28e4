#include "graph/training/train_step.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/edit/graph_editor.h"
#include "graph/gradients/added_parts.h"
#include "graph/gradients/gradients.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/op_class.h"
#include "graph/training/gradient_accumulator.h"
#include "graph/training/learning_rate.h"
#include "graph/training/loss_scaler.h"
#include "graph/training/train_nodes.h"
#include "graph/training/variable_node.h"
#include "graph/training/variable_updater.h"
#include "graph/value/dtype.h"

namespace sluice {
namespace {

bool IsTrainable(DType type) {
  return type == DType::kFloat || type == DType::kDouble || type == DType::kHalf || type == DType::kBFloat16;
}

bool IsNumber(DType type) { return IsTrainable(type) || type == DType::kInt32 || type == DType::kInt64; }

bool Has(absl::Span<const NodeId> ids, NodeId id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

Expr ValueOf(TrainNodes& nodes, const Trained& one) { return nodes.Value(one.gradient.value); }

DType NormType(DType type) { return type == DType::kDouble ? DType::kDouble : DType::kFloat; }

void ClipValue(TrainNodes& nodes, double limit, Trained* one) {
  const Expr g = ValueOf(nodes, *one);
  const Expr most = nodes.Number(g.type(), limit), least = nodes.Number(g.type(), -limit);
  one->gradient.value = Maximum(Minimum(g, most), least).output();
}

void ClipNorm(TrainNodes& nodes, double clip_norm, Trained* one) {
  const Expr g = ValueOf(nodes, *one);
  const Expr wide = Cast(g, NormType(g.type()));
  const Expr limit = nodes.Number(wide.type(), clip_norm);
  const Expr rank = AddOp("Rank", {wide});
  const Expr norm = Sqrt(Sum(wide * wide, Range(Int32(wide, 0), rank, Int32(wide, 1))));
  one->gradient.value = Cast(wide * limit / Maximum(norm, limit), g.type()).output();
}

void ClipGlobalNorm(TrainNodes& nodes, double clip_norm, absl::Span<Trained> all) {
  const bool has_double = std::any_of(all.begin(), all.end(),
                                      [&](const Trained& one) { return ValueOf(nodes, one).type() == DType::kDouble; });
  const DType type = has_double ? DType::kDouble : DType::kFloat;
  Exprs halves;
  for (const Trained& one : all) halves.push_back(AddOp("L2Loss", {Cast(ValueOf(nodes, one), type)}));
  const Expr norm = Sqrt(AddN(halves) * nodes.Number(type, 2));
  const Expr one = nodes.Number(type, 1), limit = nodes.Number(type, clip_norm);
  // Not a number where the norm is not finite: nothing hides that.
  const Expr scale = limit * Minimum(one / norm, one / limit) + (norm - norm);
  for (Trained& clipped : all) {
    const Expr g = ValueOf(nodes, clipped);
    clipped.gradient.value = (g * Cast(scale, g.type())).output();
  }
}

// Clips gradients as the options say, with the formulas of tf.clip_by_value, clip_by_norm and clip_by_global_norm.
// Norms of half numbers are computed in floats, which hold the squares; one norm of all gradients is a double where one
// of them is. Of sparse gradients the rows count as they are, rows that repeat each for itself.
void ClipGradients(TrainNodes& nodes, const TrainStepOptions& options, absl::Span<Trained> all) {
  const TrainNodes::Scope scope = nodes.In("clip");
  if (options.clip_norm > 0) ClipGlobalNorm(nodes, options.clip_norm, all);
  for (Trained& one : all) {
    if (options.clip_each_norm > 0) ClipNorm(nodes, options.clip_each_norm, &one);
    if (options.clip_value > 0) ClipValue(nodes, options.clip_value, &one);
  }
}

// Adds one training step, the parts in the order in which they run. Borrows all it is made of.
class StepWriter {
 public:
  StepWriter(Graph& graph, const TrainStepOptions& options)
      : graph_(graph), options_(options), nodes_(graph, graph.UniqueName(options.name)) {}

  // REQUIRES: `variables` are some. `before` takes the graph as it was, where its place is taken by another.
  absl::StatusOr<TrainStep> Write(Output loss, const std::vector<VariableNode>& variables,
                                  std::optional<Graph>* before) {
    TrainStep step;
    if (options_.loss_scaling.kind != LossScaling::Kind::kNone) {
      scaler_.emplace(nodes_, options_.loss_scaling, variables[0]);
    }
    SLUICE_ASSIGN_OR_RETURN(step.gradients, AddGradientsOf(loss, variables, before));
    // Outputs of replaced calls are other nodes now.
    if (before->has_value()) {
      loss = FindAgain(**before, loss);
      options_.learning_rate_tensor = FindAgain(**before, options_.learning_rate_tensor);
      for (Output& output : options_.before_update) output = FindAgain(**before, output);
    }
    SLUICE_ASSIGN_OR_RETURN(const std::optional<VariableNode> count, FindGlobalStep(variables[0]));
    if (count.has_value()) step.global_step = count->id();
    LearningRate rate(nodes_, options_, ReadStep(count));
    step.learning_rate = rate.value().output();
    if (scaler_.has_value() && scaler_->is_dynamic()) SkipUnlessFinite();
    std::optional<GradientAccumulator> accumulator;
    if (options_.accumulate_steps > 1) {
      accumulator.emplace(nodes_, options_.accumulate_steps);
      const NodeId computed = GroupGradients("computed", loss);
      branches_.push_back(accumulator->Add(computed, VariableUpdater::TakesRows(options_), absl::MakeSpan(trained_)));
    }
    if (options_.l2_regularization > 0) Regularize();
    ClipGradients(nodes_, options_, absl::MakeSpan(trained_));
    const NodeId ready = GroupGradients("gradients", loss);
    NodeId last = VariableUpdater(nodes_, options_, rate).Update(trained_, ready);
    if (accumulator.has_value()) last = nodes_.Group("cleared", accumulator->Clear(last));
    if (count.has_value()) last = CountStep(*count, last);
    step.update = Finish(last);
    step.init = nodes_.Group("init", nodes_.inits());
    step.slots = nodes_.states();
    SLUICE_RETURN_IF_ERROR(nodes_.status());
    return step;
  }

 private:
  // Returns those of all variables, and keeps the existing ones in trained_.
  absl::StatusOr<std::vector<Gradient>> AddGradientsOf(const Output& loss, const std::vector<VariableNode>& variables,
                                                       std::optional<Graph>* before) {
    GradientOptions options = options_.gradients;
    options.unconnected = GradientOptions::Unconnected::kNone;
    if (scaler_.has_value()) options.grad_ys = {scaler_->SeedOf(loss)};
    SLUICE_RETURN_IF_ERROR(nodes_.status());
    std::vector<Output> xs;
    for (const VariableNode& variable : variables) xs.push_back(variable.output());
    SLUICE_ASSIGN_OR_RETURN(GradientResult found, AddGradients(graph_, {loss}, xs, options, before));
    for (size_t i = 0; i < xs.size(); ++i) {
      if (found.xs[i].is_set()) trained_.push_back({variables[i], found.xs[i]});
    }
    if (trained_.empty()) {
      return (before->has_value() ? **before : graph_)
          .Locate(loss.node,
                  Error(ErrorCode::kUnsupported).Text("is a loss that depends on none of the variables to be trained"));
    }
    if (!scaler_.has_value()) return std::move(found.xs);
    scaler_->Unscale(absl::MakeSpan(trained_));
    size_t next = 0;
    for (Gradient& gradient : found.xs) {
      if (gradient.is_set()) gradient = trained_[next++].gradient;
    }
    return std::move(found.xs);
  }

  Output FindAgain(const Graph& before, const Output& output) const {
    if (!output.is_set() || graph_.Contains(output.node)) return output;
    return {graph_.Find(before.name(output.node)), output.index};
  }

  absl::StatusOr<std::optional<VariableNode>> FindGlobalStep(const VariableNode& like) {
    if (options_.global_step.valid()) return VariableNode::Find(graph_, options_.global_step);
    if (!LearningRate::NeedsStep(options_.schedule)) return std::optional<VariableNode>();
    const VariableNode count = nodes_.AddState(like, "global_step", DType::kInt64, PartialShape::Scalar());
    nodes_.BeginWithScalar(count, 0);
    return count;
  }
  Expr ReadStep(const std::optional<VariableNode>& count) {
    if (!LearningRate::NeedsStep(options_.schedule)) return Expr();
    const TrainNodes::Scope scope = nodes_.In("global_step", *count);
    return nodes_.Value(count->Read(nodes_.edit()));
  }
  NodeId CountStep(const VariableNode& count, NodeId updated) {
    const TrainNodes::Scope scope = nodes_.In("global_step", count);
    const GraphEditor::Scope after = nodes_.edit().After({updated});
    return count.Add(nodes_.edit(), nodes_.ExactNumber(count.dtype(), 1).output());
  }

  void SkipUnlessFinite() {
    const Expr is_finite = scaler_->AllFinite(trained_);
    always_ = scaler_->Adjust(is_finite);
    const TrainNodes::Scope scope = nodes_.In("if_finite");
    branches_.push_back(nodes_.If(is_finite));
  }

  // Returns a node that runs after the loss and all gradients, if the branches so far are taken.
  NodeId GroupGradients(absl::string_view name, const Output& loss) {
    std::vector<NodeId> computed = {NodeOf(loss)};
    for (const Output& output : options_.before_update) computed.push_back(NodeOf(output));
    for (const Trained& one : trained_) computed.push_back(NodeOf(one.gradient.value));
    for (const Branch& branch : branches_) computed.push_back(branch.taken.node);
    return nodes_.Group(name, computed);
  }

  // Returns a node that runs only if the value is live; the Switch itself would run in any case.
  NodeId NodeOf(const Output& value) {
    if (!graph_.Contains(value.node) || graph_.op(value.node).op_class != OpClass::kSwitch) return value.node;
    const TrainNodes::Scope scope = nodes_.In("computed");
    return nodes_.edit().Add("Identity", "", {value}).node;
  }

  void Regularize() {
    for (Trained& one : trained_) {
      if (Has(options_.not_decayed, one.variable.id())) continue;
      const TrainNodes::Scope scope = nodes_.In("l2_regularization", one.variable);
      const bool keeps_rows = one.gradient.is_slices() && options_.rows == RowRule::kLazy;
      if (keeps_rows) {
        AddUpRows(nodes_, &one);
      } else if (one.gradient.is_slices()) {
        MakeDense(nodes_, &one);
      }
      const Expr weights = nodes_.Value(keeps_rows ? one.variable.ReadRows(nodes_.edit(), one.gradient.indices)
                                                   : one.variable.Read(nodes_.edit()));
      const Expr factor = nodes_.ExactNumber(one.variable.dtype(), options_.l2_regularization);
      one.gradient.value = (nodes_.Value(one.gradient.value) + weights * factor).output();
    }
  }

  // Returns the node of the whole step, which runs whichever branches are taken.
  NodeId Finish(NodeId last) {
    for (size_t i = branches_.size(); i-- > 0;) {
      const TrainNodes::Scope scope = nodes_.In("finish");
      last = nodes_.Join(branches_[i], last);
    }
    std::vector<NodeId> all = {last};
    all.insert(all.end(), always_.begin(), always_.end());
    return nodes_.Group("", all);
  }

  Graph& graph_;
  TrainStepOptions options_;
  TrainNodes nodes_;
  std::optional<LossScaler> scaler_;
  std::vector<Trained> trained_;
  std::vector<Branch> branches_;  // Each is inside the one before it.
  std::vector<NodeId> always_;    // What runs in every step.
};

absl::Status CheckOutput(const Graph& graph, const Output& output, absl::string_view what) {
  if (graph.Contains(output.node) && !output.is_control() && output.index < graph.num_outputs(output.node)) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kNodeMissing).Text(absl::StrCat("the ", what, " of the training step is not in the graph"));
}

absl::Status CheckLoss(const Graph& graph, const Output& loss) {
  SLUICE_RETURN_IF_ERROR(CheckOutput(graph, loss, "loss"));
  const DType type = BaseType(graph.output_type(loss.node, loss.index));
  if (IsTrainable(type)) return absl::OkStatus();
  return graph.Locate(
      loss.node,
      Error(ErrorCode::kInputType).Text("cannot be the loss: it is not a real-valued tensor").Found(DTypeName(type)));
}

absl::Status CheckRate(const Graph& graph, const Output& rate, const LoadLimits& limits) {
  if (!rate.is_set()) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(CheckOutput(graph, rate, "learning rate"));
  const DType type = BaseType(graph.output_type(rate.node, rate.index));
  if (!IsNumber(type)) {
    return graph.Locate(
        rate.node,
        Error(ErrorCode::kInputType).Text("cannot be a learning rate, which must be a number").Found(DTypeName(type)));
  }
  SLUICE_ASSIGN_OR_RETURN(const ControlFlowInfo info, BuildControlFlowInfo(graph, limits));
  const int32_t frame = info.frame(rate.node);
  const bool is_exit = graph.op(rate.node).op_class == OpClass::kExit;
  if (frame <= 0 || (is_exit && info.frames[static_cast<size_t>(frame)].parent <= 0)) return absl::OkStatus();
  return graph.Locate(rate.node, Error(ErrorCode::kUnsupported)
                                     .Text(absl::StrCat("cannot be a learning rate: it is in loop '",
                                                        info.frames[static_cast<size_t>(frame)].name, "'"))
                                     .Expected("a value outside of loops"));
}

absl::Status CheckGlobalStep(const Graph& graph, NodeId id, absl::Span<const NodeId> trained) {
  if (!id.valid()) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const VariableNode count, VariableNode::Find(graph, id));
  const bool is_scalar = !count.shape().has_rank() || count.shape().rank() == 0;
  const bool is_trained = Has(trained, id);
  if (IsNumber(count.dtype()) && is_scalar && !is_trained) return absl::OkStatus();
  return graph.Locate(id, Error(ErrorCode::kInputType)
                              .Text("is to count the steps of a training")
                              .Found(is_trained ? "one of the variables to be trained"
                                                : absl::StrCat(DTypeName(count.dtype()), " ", count.shape().ToString()))
                              .Expected("a scalar number of its own"));
}

absl::StatusOr<std::vector<VariableNode>> FindVariables(const Graph& graph, absl::Span<const NodeId> ids) {
  std::vector<VariableNode> variables;
  HashSet<NodeId> seen;
  for (const NodeId id : ids) {
    SLUICE_ASSIGN_OR_RETURN(const VariableNode variable, VariableNode::Find(graph, id));
    if (!IsTrainable(variable.dtype())) {
      return graph.Locate(id, Error(ErrorCode::kInputType)
                                  .Text("cannot be trained: no optimizer takes its type")
                                  .Found(DTypeName(variable.dtype())));
    }
    if (!seen.insert(id).second) {
      return graph.Locate(id, Error(ErrorCode::kWrongUse).Text("is named twice among the variables to be trained"));
    }
    variables.push_back(variable);
  }
  if (variables.empty()) return Error(ErrorCode::kWrongUse).Text("a training step needs variables to train");
  return variables;
}

}  // namespace

absl::StatusOr<TrainStep> AddTrainStep(Graph& graph, const Output& loss, absl::Span<const NodeId> variables,
                                       const TrainStepOptions& options) {
  SLUICE_RETURN_IF_ERROR(CheckTrainStepOptions(options));
  SLUICE_RETURN_IF_ERROR(CheckLoss(graph, loss));
  SLUICE_RETURN_IF_ERROR(CheckRate(graph, options.learning_rate_tensor, options.gradients.limits));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<VariableNode> found, FindVariables(graph, variables));
  SLUICE_RETURN_IF_ERROR(CheckGlobalStep(graph, options.global_step, variables));
  AddedParts added(graph);
  std::optional<Graph> before;
  // Before the added nodes are removed.
  absl::Cleanup restore = [&] {
    if (before.has_value()) graph = *std::move(before);
  };
  SLUICE_ASSIGN_OR_RETURN(TrainStep step, StepWriter(graph, options).Write(loss, found, &before));
  std::move(restore).Cancel();
  added.Keep();
  return step;
}

}  // namespace sluice
