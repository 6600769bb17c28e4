#include "graph/gradients/loop_gradients.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradient_sum.h"
#include "graph/gradients/gradient_sweep.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"

namespace sluice {

absl::StatusOr<std::unique_ptr<LoopGradients>> LoopGradients::Make(const GradientRegion& region,
                                                                   GradientEmitter& emitter) {
  auto loops = std::unique_ptr<LoopGradients>(new LoopGradients(region, emitter));  // NOLINT: private constructor.
  SLUICE_RETURN_IF_ERROR(loops->Init());
  emitter.SetConditions(&loops->conditions_);
  return loops;
}

absl::Status LoopGradients::Init() {
  SLUICE_ASSIGN_OR_RETURN(info_, BuildControlFlowInfo(graph_, LoadLimits()));
  SLUICE_RETURN_IF_ERROR(conditions_.Init());
  loops_.resize(info_.frames.size());
  for (size_t frame = 1; frame < info_.frames.size(); ++frame) {
    SLUICE_RETURN_IF_ERROR(FindVariables(static_cast<int32_t>(frame)));
  }
  return absl::OkStatus();
}

absl::Status LoopGradients::Refuse(NodeId id, absl::string_view why) const {
  const StaticFrame& frame = info_.frames[static_cast<size_t>(info_.frame(id))];
  return graph_.Locate(
      id, Error(ErrorCode::kUnsupported).Text(absl::StrCat("of loop '", frame.name, "' has no gradient: ", why)));
}

absl::Status LoopGradients::FindVariables(int32_t frame) {
  const StaticFrame& forward = info_.frames[static_cast<size_t>(frame)];
  Loop& loop = loops_[static_cast<size_t>(frame)];
  for (const NodeId id : forward.nodes) {
    if (!region_.IsReached(id)) continue;
    const OpClass op_class = graph_.op(id).op_class;
    if (op_class == OpClass::kExit) loop.exits.push_back(id);
    if (op_class != OpClass::kMerge) continue;
    Variable variable;
    variable.merge = id;
    const absl::Span<const Output> inputs = graph_.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (IsBackEdge(graph_, id, inputs[i])) variable.back = static_cast<int32_t>(i);
    }
    if (variable.back < 0) continue;
    if (inputs.size() != 2) return Refuse(id, "the value that it begins with does not come from one Enter");
    variables_.try_emplace(id, frame, static_cast<int32_t>(loop.variables.size()));
    loop.variables.push_back(variable);
  }
  for (const NodeId id : forward.nodes) {
    if (!region_.IsReached(id) || graph_.op(id).op_class != OpClass::kSwitch) continue;
    if (graph_.inputs(id)[1] != Output{forward.loop_cond, 0}) continue;
    const auto of_merge = variables_.find(graph_.inputs(id)[0].node);
    if (of_merge == variables_.end()) continue;
    Variable& variable = loop.variables[static_cast<size_t>(of_merge->second.second)];
    if (variable.gate.valid()) return Refuse(id, "two Switches take the value of one Merge");
    variable.gate = id;
    const std::pair<int32_t, int32_t> place = of_merge->second;
    variables_.try_emplace(id, place);
  }
  for (const Variable& variable : loop.variables) {
    if (!variable.gate.valid()) return Refuse(variable.merge, "no Switch on the loop's condition takes its value");
  }
  loop.num_waiting = loop.exits.size();
  return absl::OkStatus();
}

absl::Status LoopGradients::CheckOutside(absl::Span<const Output> outputs, absl::string_view what) const {
  for (const Output& output : outputs) {
    if (!output.is_set()) continue;
    const int32_t frame = info_.frame(output.node);
    const bool is_exit = graph_.op(output.node).op_class == OpClass::kExit;
    const int32_t stands_in = is_exit ? info_.frames[static_cast<size_t>(frame)].parent : frame;
    if (stands_in > 0) return Refuse(output.node, absl::StrCat("a ", what, " must stand outside of loops"));
  }
  return absl::OkStatus();
}

GradientFrame* LoopGradients::ParentOf(int32_t frame) const {
  const int32_t parent = info_.frames[static_cast<size_t>(frame)].parent;
  return parent > 0 ? loops_[static_cast<size_t>(parent)].frame.get() : nullptr;
}

GradientFrame* LoopGradients::FrameOfOutputs(NodeId id) const {
  const int32_t frame = info_.frame(id);
  if (frame <= 0) return nullptr;
  if (graph_.op(id).op_class == OpClass::kExit) return ParentOf(frame);
  return loops_[static_cast<size_t>(frame)].frame.get();
}

bool LoopGradients::IsPart(NodeId id) const {
  switch (graph_.op(id).op_class) {
    case OpClass::kEnter:
    case OpClass::kExit:
    case OpClass::kNextIteration:
      return info_.frame(id) > 0;
    case OpClass::kMerge:
    case OpClass::kSwitch:
      return variables_.contains(id);
    default:
      return false;
  }
}

LoopGradients::Variable* LoopGradients::VariableOf(NodeId id) {
  const auto* const variable = static_cast<const LoopGradients*>(this)->VariableOf(id);
  return const_cast<Variable*>(variable);  // NOLINT: of this object.
}

bool LoopGradients::MayRead(NodeId consumer, NodeId id) const {
  const Variable* const variable = VariableOf(id);
  return variable == nullptr || variable->merge != id || variable->gate == consumer;
}

const LoopGradients::Variable* LoopGradients::VariableOf(NodeId id) const {
  const auto place = variables_.find(id);
  if (place == variables_.end()) return nullptr;
  return &loops_[static_cast<size_t>(place->second.first)].variables[static_cast<size_t>(place->second.second)];
}

absl::Status LoopGradients::Visit(NodeId id, absl::Span<const Gradient> dys, GradientSweep& sweep) {
  switch (graph_.op(id).op_class) {
    case OpClass::kExit:
      return VisitExit(id, dys[0], sweep);
    case OpClass::kSwitch:
      return VisitGate(id, dys, sweep);
    case OpClass::kNextIteration:
      sweep.Deliver(id, 0, dys[0]);
      return absl::OkStatus();
    case OpClass::kMerge: {
      // What the variable's gradient is in the end; VisitGate saw to that nothing else came.
      const int32_t back = VariableOf(id)->back;
      sweep.Deliver(id, 1 - back, dys[0]);
      return absl::OkStatus();
    }
    default:
      break;
  }
  SLUICE_ASSIGN_OR_RETURN(const bool is_constant, graph_.GetBool(id, "is_constant"));
  if (is_constant) return VisitInvariant(id, dys[0], sweep);
  sweep.Deliver(id, 0, dys[0]);
  return absl::OkStatus();
}

absl::Status LoopGradients::VisitExit(NodeId id, const Gradient& dy, GradientSweep& sweep) {
  Loop& loop = LoopOf(id);
  if (dy.is_set()) loop.exit_dys.try_emplace(id, dy);
  return --loop.num_waiting == 0 ? Begin(info_.frame(id), sweep) : absl::OkStatus();
}

Output LoopGradients::LastValue(const Variable& variable, NodeId exit) {
  return exit.valid() ? Output{exit, 0} : emitter_.Add("Exit", {{variable.gate, 0}});
}

absl::Status LoopGradients::Begin(int32_t frame, GradientSweep& sweep) {
  Loop& loop = loops_[static_cast<size_t>(frame)];
  const bool has_any = !loop.exit_dys.empty();
  GradientFrame* const parent = ParentOf(frame);
  if (has_any) {
    emitter_.SetFrame(parent);
    loop.frame = std::make_unique<LoopFrame>(info_.frames[static_cast<size_t>(frame)], frame, info_,
                                             static_cast<LoopFrame*>(parent), conditions_, emitter_);
    loop.frame->Begin();
  }
  for (Variable& variable : loop.variables) {
    Gradient dy;
    if (has_any && sweep.Flows(variable.merge, variable.back)) {
      NodeId exit;
      for (const NodeId candidate : loop.exits) {
        if (graph_.inputs(candidate)[0] == Output{variable.gate, 0}) exit = candidate;
      }
      emitter_.BeginNode(variable.merge);
      emitter_.SetFrame(parent);
      const auto given = loop.exit_dys.find(exit);
      const Expr last = emitter_.Forward(LastValue(variable, exit));
      const Expr start = given != loop.exit_dys.end() ? emitter_.Dense(given->second, last) : ZerosLike(last);
      variable.grad = loop.frame->AddVariable(start.output());
      dy = Gradient::Dense(variable.grad.value);
    }
    sweep.Deliver(variable.merge, variable.back, dy);
  }
  for (const NodeId exit : loop.exits) sweep.Deliver(exit, 0, Gradient());
  return emitter_.status();
}

absl::Status LoopGradients::VisitGate(NodeId id, absl::Span<const Gradient> dys, GradientSweep& sweep) {
  Variable& variable = *VariableOf(id);
  Loop& loop = LoopOf(id);
  if (dys[0].is_set()) return Refuse(id, "its end is read by other than an Exit");
  Gradient before;
  if (loop.frame != nullptr && variable.grad.merge.is_set()) {
    const Expr value = emitter_.Forward({id, 1});
    Gradient next = MakeLive(emitter_, value, dys[1]);
    const Expr dense = next.is_set() ? emitter_.Dense(next, value) : ZerosLike(value);
    before = Gradient::Dense(loop.frame->Close(variable.grad, dense.output()));
  }
  sweep.Deliver(id, 0, before);
  return emitter_.status();
}

absl::Status LoopGradients::VisitInvariant(NodeId id, const Gradient& dy, GradientSweep& sweep) {
  Loop& loop = LoopOf(id);
  if (!dy.is_set() || loop.frame == nullptr) {
    sweep.Deliver(id, 0, Gradient());
    return absl::OkStatus();
  }
  const Expr value = emitter_.Forward({id, 0});
  const Expr term = emitter_.Dense(MakeLive(emitter_, value, dy), value);
  emitter_.SetFrame(loop.frame->parent());
  const Expr outside = emitter_.Forward(graph_.inputs(id)[0]);
  const Expr zeros = outside.type() == DType::kResource ? Fill(AddOp("VariableShape", {outside}), Number(term, 0))
                                                        : ZerosLike(outside);
  const LoopFrame::Variable sum = loop.frame->AddVariable(zeros.output());
  emitter_.SetFrame(loop.frame.get());
  const Expr before = emitter_.Value(sum.value);
  const Expr next = term.type() == DType::kVariant ? AddN({before, term}) : before + term;  // Lists add in AddN.
  sweep.Deliver(id, 0, Gradient::Dense(loop.frame->Close(sum, next.output())));
  return emitter_.status();
}

}  // namespace sluice
