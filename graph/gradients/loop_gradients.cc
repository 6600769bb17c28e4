#include "graph/gradients/loop_gradients.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradient_sum.h"
#include "graph/gradients/gradient_sweep.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"

namespace sluice {

absl::StatusOr<std::unique_ptr<LoopGradients>> LoopGradients::Make(const GradientRegion& region,
                                                                   GradientEmitter& emitter, const LoadLimits& limits) {
  auto loops = std::unique_ptr<LoopGradients>(new LoopGradients(region, emitter));  // NOLINT: private constructor.
  SLUICE_RETURN_IF_ERROR(loops->Init(limits));
  emitter.SetConditions(&loops->conditions_);
  return loops;
}

absl::Status LoopGradients::Init(const LoadLimits& limits) {
  SLUICE_ASSIGN_OR_RETURN(info_, BuildControlFlowInfo(graph_, limits));
  SLUICE_RETURN_IF_ERROR(conditions_.Init());
  loops_.resize(info_.frames.size());
  for (size_t frame = 1; frame < info_.frames.size(); ++frame) {
    const int32_t index = static_cast<int32_t>(frame), parent = info_.frames[frame].parent;
    SLUICE_RETURN_IF_ERROR(FindVariables(index));
    SLUICE_RETURN_IF_ERROR(FindGates(index));
    loops_[frame].num_waiting = loops_[frame].exits.size();
    if (parent <= 0) continue;
    loops_[static_cast<size_t>(parent)].loops.push_back(index);
    ++loops_[frame].num_waiting;
  }
  for (const StackLink& link : region_.stacks()) {
    if (region_.IsReached(link.pop)) FindStack(link);
  }
  return absl::OkStatus();
}

void LoopGradients::FindStack(const StackLink& link) {
  const int32_t place = static_cast<int32_t>(stacks_.size());
  Stack stack;
  stack.link = link;
  int32_t push = info_.frame(link.push), pop = info_.frame(link.pop);
  while (push != pop) {
    const bool is_push = info_.frames[static_cast<size_t>(push)].depth >= info_.frames[static_cast<size_t>(pop)].depth;
    int32_t& frame = is_push ? push : pop;
    (is_push ? stack.push_loop : stack.pop_loop) = frame;
    frame = info_.frames[static_cast<size_t>(frame)].parent;
  }
  if (stack.push_loop < 0 || stack.pop_loop < 0) {
    stack.push_loop = stack.pop_loop = -1;
  } else {
    LoopOf(link.push).stacks.push_back(place);
    for (int32_t loop = info_.frame(link.push); loop != push; loop = info_.frames[static_cast<size_t>(loop)].parent) {
      ++loops_[static_cast<size_t>(loop)].num_waiting;
    }
  }
  stacks_.push_back(stack);
  stack_of_.try_emplace(link.push, place);
  stack_of_.try_emplace(link.pop, place);
}

absl::Status LoopGradients::Refuse(NodeId id, absl::string_view why) const {
  const StaticFrame& frame = info_.frames[static_cast<size_t>(info_.frame(id))];
  return graph_.Locate(id, Error(ErrorCode::kUnsupported).Text(absl::StrCat("in loop '", frame.name, "': ", why)));
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
    if (inputs.size() != 2)
      return Refuse(id, "this Merge does not begin with the value of one Enter, so it has no gradient");
    variables_.try_emplace(id, frame, static_cast<int32_t>(loop.variables.size()));
    loop.variables.push_back(variable);
  }
  return absl::OkStatus();
}

absl::Status LoopGradients::FindGates(int32_t frame) {
  const StaticFrame& forward = info_.frames[static_cast<size_t>(frame)];
  Loop& loop = loops_[static_cast<size_t>(frame)];
  for (const NodeId id : forward.nodes) {
    if (!region_.IsReached(id) || graph_.op(id).op_class != OpClass::kSwitch) continue;
    if (graph_.inputs(id)[1] != Output{forward.loop_cond, 0}) continue;
    const auto of_merge = variables_.find(graph_.inputs(id)[0].node);
    if (of_merge == variables_.end()) continue;
    Variable& variable = loop.variables[static_cast<size_t>(of_merge->second.second)];
    if (variable.gate.valid()) return Refuse(id, "two Switches read one Merge, so these have no gradient");
    variable.gate = id;
    const std::pair<int32_t, int32_t> place = of_merge->second;
    variables_.try_emplace(id, place);
  }
  for (const Variable& variable : loop.variables) {
    if (!variable.gate.valid())
      return Refuse(variable.merge, "no Switch on the loop's condition reads this Merge, so it has no gradient");
  }
  for (const NodeId exit : loop.exits) {
    Variable* const variable = LeavingBy(exit);
    if (variable != nullptr) variable->exits.push_back(exit);
  }
  return absl::OkStatus();
}

LoopGradients::Variable* LoopGradients::LeavingBy(NodeId exit) {
  const Output& source = graph_.inputs(exit)[0];
  Variable* const variable = source.index == 0 ? VariableOf(source.node) : nullptr;
  return variable != nullptr && variable->gate == source.node ? variable : nullptr;
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

LoopFrame* LoopGradients::ParentOf(int32_t frame) const {
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
      return stack_of_.contains(id);
  }
}

bool LoopGradients::IsRead(NodeId id) const {
  switch (graph_.op(id).op_class) {
    case OpClass::kEnter:
      return graph_.GetBool(id, "is_constant").value_or(false);
    case OpClass::kNextIteration:
      return false;
    case OpClass::kMerge:
      return !variables_.contains(id);
    default:
      return true;
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
      // The variable's final gradient; VisitGate has rejected any other contribution.
      const int32_t back = VariableOf(id)->back;
      sweep.Deliver(id, 1 - back, dys[0]);
      return absl::OkStatus();
    }
    case OpClass::kEnter:
      break;
    default: {
      Stack& stack = stacks_[static_cast<size_t>(stack_of_.find(id)->second)];
      return id == stack.link.pop ? VisitPop(stack, dys[0], sweep) : VisitPush(stack, dys[0], sweep);
    }
  }
  SLUICE_ASSIGN_OR_RETURN(const bool is_constant, graph_.GetBool(id, "is_constant"));
  if (is_constant) return VisitInvariant(id, dys[0], sweep);
  sweep.Deliver(id, 0, dys[0]);
  return absl::OkStatus();
}

absl::Status LoopGradients::VisitExit(NodeId id, const Gradient& dy, GradientSweep& sweep) {
  if (dy.is_set() && LeavingBy(id) == nullptr)
    return Refuse(id, "this Exit does not leave a loop variable, so it has no gradient");
  if (dy.is_set()) LoopOf(id).exit_dys.try_emplace(id, dy);
  return Arrive(info_.frame(id), sweep);
}

absl::Status LoopGradients::VisitPop(Stack& stack, const Gradient& dy, GradientSweep& sweep) {
  if (stack.push_loop < 0) {
    sweep.Release(stack.link);
    if (!dy.is_set()) return absl::OkStatus();
    return graph_.Locate(stack.link.pop, Error(ErrorCode::kUnsupported)
                                             .Text("has no gradient: the stack that it reads was not filled by another "
                                                   "loop"));
  }
  if (dy.is_set()) {
    const Expr dense = emitter_.Dense(dy, emitter_.Forward({stack.link.pop, 0}));
    stack.gradients = LoopOf(stack.link.pop).frame->Keep(dense.output());
    loops_[static_cast<size_t>(stack.push_loop)].readers.push_back(stack.pop_loop);
  }
  std::vector<int32_t> around;
  for (int32_t loop = info_.frame(stack.link.push); loop != stack.push_loop;) {
    around.push_back(loop);
    loop = info_.frames[static_cast<size_t>(loop)].parent;
  }
  around.push_back(stack.push_loop);
  for (auto loop = around.rbegin(); loop != around.rend(); ++loop) {
    if (dy.is_set()) loops_[static_cast<size_t>(*loop)].has_stacked = true;
    SLUICE_RETURN_IF_ERROR(Arrive(*loop, sweep));
  }
  return emitter_.status();
}

absl::Status LoopGradients::VisitPush(Stack& stack, const Gradient& dy, GradientSweep& sweep) {
  const NodeId push = stack.link.push;
  Gradient sum = dy;
  if (stack.gradients.is_set()) {
    const Expr popped = emitter_.Value(LoopOf(push).frame->GiveBack(stack.gradients, {push, 0}));
    Gradient terms[] = {dy, Gradient::Dense(popped.output())};
    sum = SumGradients(emitter_, emitter_.Forward({push, 0}), terms, GradientOptions::Aggregation::kAddN);
  }
  sweep.Deliver(push, 1, sum);
  return emitter_.status();
}

absl::Status LoopGradients::Arrive(int32_t frame, GradientSweep& sweep) {
  if (--loops_[static_cast<size_t>(frame)].num_waiting > 0) return absl::OkStatus();
  std::vector<int32_t> ready = {frame};
  while (!ready.empty()) {
    const int32_t next = ready.back();
    ready.pop_back();
    SLUICE_RETURN_IF_ERROR(Begin(next, sweep));
    for (const int32_t inner : loops_[static_cast<size_t>(next)].loops) {
      if (--loops_[static_cast<size_t>(inner)].num_waiting == 0) ready.push_back(inner);
    }
  }
  return absl::OkStatus();
}

Output LoopGradients::LastValue(const Variable& variable) {
  return variable.exits.empty() ? emitter_.Add("Exit", {{variable.gate, 0}}) : Output{variable.exits[0], 0};
}

Expr LoopGradients::StartOf(const Loop& loop, const Variable& variable) {
  const Expr last = emitter_.Forward(LastValue(variable));
  std::vector<Gradient> dys;
  for (const NodeId exit : variable.exits) {
    const auto given = loop.exit_dys.find(exit);
    if (given != loop.exit_dys.end()) dys.push_back(given->second);
  }
  if (dys.empty()) return emitter_.Zeros(last);
  return emitter_.Dense(SumGradients(emitter_, last, absl::MakeSpan(dys), GradientOptions::Aggregation::kAddN), last);
}

absl::Status LoopGradients::MakeFrame(int32_t frame) {
  Loop& loop = loops_[static_cast<size_t>(frame)];
  const StaticFrame& forward = info_.frames[static_cast<size_t>(frame)];
  if (!forward.loop_cond.valid())
    return Refuse(forward.enters[0], "the loop has no LoopCond, so its values have no gradient");
  LoopFrame* const parent = ParentOf(frame);
  emitter_.SetFrame(parent);
  loop.frame = std::make_unique<LoopFrame>(forward, frame, info_, parent, conditions_, emitter_);
  std::sort(loop.readers.begin(), loop.readers.end());
  loop.readers.erase(std::unique(loop.readers.begin(), loop.readers.end()), loop.readers.end());
  std::vector<NodeId> after;
  for (const int32_t reader : loop.readers) after.push_back(loops_[static_cast<size_t>(reader)].frame->End());
  const Output count = loop.frame->Begin(after);
  if (!emitter_.ok()) return emitter_.status();
  for (const NodeId end : after) {
    if (conditions_.Beyond({end, 0}, conditions_.Of(count)).empty()) continue;
    return Refuse(forward.enters[0],
                  "another loop reads the values of this one, and runs under other conditions, so it has no gradient");
  }
  return absl::OkStatus();
}

absl::Status LoopGradients::Begin(int32_t frame, GradientSweep& sweep) {
  Loop& loop = loops_[static_cast<size_t>(frame)];
  const bool has_any = !loop.exit_dys.empty() || loop.has_stacked;
  if (has_any) SLUICE_RETURN_IF_ERROR(MakeFrame(frame));
  for (Variable& variable : loop.variables) {
    Gradient dy;
    // Even if the body replaces the variable by a value without gradient: reads in the body count, and an Exit counts
    // if the loop has no iteration.
    if (has_any) {
      emitter_.BeginNode(variable.merge);
      emitter_.SetFrame(loop.frame->parent());
      variable.grad = loop.frame->AddVariable(StartOf(loop, variable).output());
      dy = Gradient::Dense(variable.grad.value);
    }
    sweep.Deliver(variable.merge, variable.back, dy);
  }
  for (const NodeId exit : loop.exits) sweep.Deliver(exit, 0, Gradient());
  for (const int32_t stack : loop.stacks) sweep.Release(stacks_[static_cast<size_t>(stack)].link);
  return emitter_.status();
}

absl::Status LoopGradients::VisitGate(NodeId id, absl::Span<const Gradient> dys, GradientSweep& sweep) {
  Variable& variable = *VariableOf(id);
  Loop& loop = LoopOf(id);
  if (dys[0].is_set())
    return Refuse(id, "a node other than an Exit reads the last value of this Switch, so it has no gradient");
  Gradient before;
  if (loop.frame != nullptr && variable.grad.merge.is_set()) {
    const Expr value = emitter_.Forward({id, 1});
    const DType type = emitter_.Value(variable.grad.value).type();
    const Expr dense = dys[1].is_set() ? emitter_.Dense(dys[1], value) : emitter_.Zeros(value, type);
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
  const Expr term = emitter_.Dense(dy, value);
  emitter_.SetFrame(loop.frame->parent());
  const Expr outside = emitter_.Forward(graph_.inputs(id)[0]);
  const Expr zeros = emitter_.Zeros(outside, term.type());
  const LoopFrame::Variable sum = loop.frame->AddVariable(zeros.output());
  emitter_.SetFrame(loop.frame.get());
  const Expr before = emitter_.Value(sum.value);
  const Expr next = term.type() == DType::kVariant ? AddN({before, term}) : before + term;  // Lists add in AddN.
  sweep.Deliver(id, 0, Gradient::Dense(loop.frame->Close(sum, next.output())));
  return emitter_.status();
}

}  // namespace sluice
