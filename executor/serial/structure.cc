#include "executor/serial/structure.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"

namespace sluice {
namespace {

// What a node of this class becomes, as far as the class alone tells.
SerialRole RoleOfClass(OpClass op_class) {
  switch (op_class) {
    case OpClass::kConst:
      return SerialRole::kConst;
    case OpClass::kForward:
    case OpClass::kLoopCond:
      return SerialRole::kAlias;
    case OpClass::kNoOp:
      return SerialRole::kNothing;
    case OpClass::kControlTrigger:
      return SerialRole::kTrigger;
    case OpClass::kSwitch:
    case OpClass::kSwitchN:
      return SerialRole::kSwitch;
    case OpClass::kMerge:
      return SerialRole::kMerge;
    case OpClass::kEnter:
      return SerialRole::kEnter;
    case OpClass::kExit:
      return SerialRole::kExit;
    case OpClass::kNextIteration:
      return SerialRole::kNextIteration;
    case OpClass::kArg:
      return SerialRole::kArg;
    case OpClass::kRetval:
      return SerialRole::kReturn;
    case OpClass::kSend:
    case OpClass::kHostSend:
      return SerialRole::kSend;
    case OpClass::kRecv:
    case OpClass::kHostRecv:
      return SerialRole::kStart;
    case OpClass::kGradSum:
      return SerialRole::kUnsupported;
    case OpClass::kOther:
    case OpClass::kIf:
    case OpClass::kCase:
    case OpClass::kWhile:
    case OpClass::kCall:
      break;
  }
  return SerialRole::kCompute;
}

bool IsControlFlowRole(SerialRole role) {
  return role == SerialRole::kTrigger || (role >= SerialRole::kSwitch && role <= SerialRole::kNextIteration);
}

}  // namespace

absl::StatusOr<SerialStructure> SerialStructure::Analyze(const Graph& graph, const KernelSet& kernels, StopPoll* stop,
                                                         const LoadLimits& limits, SerialWaits waits) {
  SerialStructure structure(graph, kernels, waits);
  structure.FindRoles();
  if (!structure.is_structured()) return structure;
  SLUICE_RETURN_IF_ERROR(PollStop(stop, graph.id_limit()));
  if (structure.has_control_flow_) {
    SLUICE_ASSIGN_OR_RETURN(structure.frames_, BuildControlFlowInfo(graph, limits));
    SLUICE_RETURN_IF_ERROR(PollStop(stop, graph.id_limit()));
  }
  SLUICE_ASSIGN_OR_RETURN(structure.order_, TopologicalOrder(graph));
  SLUICE_RETURN_IF_ERROR(PollStop(stop, graph.id_limit()));
  structure.NumberOutputs();
  structure.loops_.resize(structure.has_control_flow_ ? structure.frames_.frames.size() : 1);
  for (const NodeId id : structure.order_) {
    SLUICE_RETURN_IF_ERROR(PollStop(stop));
    structure.Visit(id);
    if (!structure.is_structured()) return structure;
  }
  structure.CheckLoops();
  return structure;
}

SerialRole SerialStructure::RoleOf(NodeId id) const {
  const OpClass op_class = graph_->op(id).op_class;
  const SerialRole role = RoleOfClass(op_class);
  const Kernel* const kernel = kernels_->kernel(id);
  if (role == SerialRole::kConst || role == SerialRole::kCompute) {
    if (kernels_->constant(*graph_, id) != nullptr) return SerialRole::kConst;
    if (kernel == nullptr) return SerialRole::kUnsupported;
    return kernel->AsAsync() != nullptr ? SerialRole::kStart : SerialRole::kCompute;
  }
  // A host's kernels may be of another kind than the op's own.
  if (role == SerialRole::kSend && (kernel == nullptr || kernel->AsAsync() != nullptr)) return SerialRole::kUnsupported;
  if (role == SerialRole::kStart && (kernel == nullptr || kernel->AsAsync() == nullptr))
    return SerialRole::kUnsupported;
  return role;
}

void SerialStructure::FindRoles() {
  roles_.assign(static_cast<size_t>(graph_->id_limit()), SerialRole::kNothing);
  for (int32_t i = 0; i < graph_->id_limit(); ++i) {
    const NodeId id(i);
    if (!graph_->Contains(id)) continue;
    const SerialRole role = RoleOf(id);
    const bool waits = role == SerialRole::kStart || role == SerialRole::kSend;
    if (role == SerialRole::kUnsupported || (waits && waits_ == SerialWaits::kRefused)) {
      const bool is_grad_sum = graph_->op(id).op_class == OpClass::kGradSum;
      return Refuse(id, is_grad_sum ? "joins live and dead values" : "completes elsewhere");
    }
    has_waits_ = has_waits_ || waits;
    has_control_flow_ = has_control_flow_ || IsControlFlowRole(role);
    roles_[Index(id)] = role;
  }
}

void SerialStructure::NumberOutputs() {
  const size_t limit = static_cast<size_t>(graph_->id_limit());
  first_output_.resize(limit + 1);
  uint32_t next = 0;
  for (size_t i = 0; i < limit; ++i) {
    first_output_[i] = next;
    const NodeId id(static_cast<int32_t>(i));
    if (graph_->Contains(id)) next += static_cast<uint32_t>(graph_->num_outputs(id));
  }
  first_output_[limit] = next;
  value_of_.assign(next, kNoValue);
  values_.reserve(next);
  if (!has_control_flow_) return;
  guards_of_.assign(limit, kAlways);
  output_guards_.assign(next, kAlways);
}

GuardId SerialStructure::output_guard(const Output& output) const {
  if (!has_control_flow_) return kAlways;
  if (!output.is_control()) return output_guards_[OutputIndex(output)];
  // Nodes that wait for one of these are in another frame than the node itself.
  const SerialRole role = roles_[Index(output.node)];
  const bool changes_frame = role == SerialRole::kEnter || role == SerialRole::kExit;
  return changes_frame ? output_guards_[OutputIndex({output.node, 0})] : guards_of_[Index(output.node)];
}

void SerialStructure::Refuse(NodeId id, absl::string_view why) {
  if (why_not_.empty()) why_not_ = absl::StrCat(graph_->op_name(id), " '", graph_->name(id), "' ", why);
}

GuardId SerialStructure::And(GuardId a, GuardId b) {
  const std::optional<GuardId> both = guards_.And(a, b);
  if (!both.has_value() && why_not_.empty()) why_not_ = "conditionals are nested too deeply";
  return both.value_or(kNever);
}

GuardId SerialStructure::InputsGuard(NodeId id) {
  GuardId guard = kAlways;
  for (const Output& source : graph_->inputs(id)) guard = And(guard, output_guard(source));
  return guard;
}

GuardId SerialStructure::ControlsGuard(NodeId id) {
  GuardId guard = kAlways;
  for (const Output& source : graph_->controls(id)) guard = And(guard, output_guard(source));
  return guard;
}

void SerialStructure::SetGuard(NodeId id, GuardId guard) {
  if (has_control_flow_) guards_of_[Index(id)] = guard;
}

void SerialStructure::SetOutput(NodeId id, int32_t output, int32_t value, GuardId guard) {
  const size_t index = OutputIndex({id, output});
  value_of_[index] = guard == kNever ? kNoValue : value;
  if (has_control_flow_) output_guards_[index] = guard;
}

int32_t SerialStructure::NewValue(NodeId id, bool is_ref) {
  values_.emplace_back();
  values_.back().is_ref = is_ref;
  if (has_control_flow_) {
    const int32_t rank_in_loop = loops_[static_cast<size_t>(frame(id))].rank;
    values_.back().rank = std::max(guards_.RankUnder(guard(id)), rank_in_loop);
  }
  return static_cast<int32_t>(values_.size()) - 1;
}

int32_t SerialStructure::Use(const Output& source) {
  const int32_t used = value(source);
  if (used != kNoValue) values_[static_cast<size_t>(used)].is_used = true;
  return used;
}

bool SerialStructure::Dereferences(NodeId id, int32_t input) const {
  const int32_t source = value(graph_->inputs(id)[static_cast<size_t>(input)]);
  return source != kNoValue && values_[static_cast<size_t>(source)].is_ref && !IsRef(graph_->input_type(id, input));
}

void SerialStructure::AliasOutput(NodeId id, int32_t output, int32_t input) {
  const int32_t source = Use(graph_->inputs(id)[static_cast<size_t>(input)]);
  const bool is_new = Dereferences(id, input);
  SetOutput(id, output, is_new ? NewValue(id, false) : source, guard(id));
}

// A loop variable has the entering value in the first iteration and NextIteration's in all others; the index output of
// its Merge tells which.
bool SerialStructure::ReadsOneIterationOnly(NodeId id) const {
  if (!has_control_flow_) return false;
  const absl::Span<const Output> sources =
      roles_[Index(id)] == SerialRole::kMerge && IsLoopMerge(id) ? graph_->controls(id) : graph_->all_inputs(id);
  for (const Output& source : sources) {
    const SerialRole role = roles_[Index(source.node)];
    if (role == SerialRole::kEnter && !graph_->GetBool(source.node, "is_constant").value_or(false)) return true;
    if (role == SerialRole::kNextIteration) return true;
    if (role == SerialRole::kMerge && source.index == 1 && IsLoopMerge(source.node)) return true;
  }
  return false;
}

void SerialStructure::Visit(NodeId id) {
  const SerialRole role = roles_[Index(id)];
  if (ReadsOneIterationOnly(id)) return Refuse(id, "does not get all its inputs in every iteration of its loop");
  if (role == SerialRole::kMerge) return VisitMerge(id, has_control_flow_ ? ControlsGuard(id) : kAlways);
  if (role == SerialRole::kEnter) return VisitEnter(id);
  if (has_control_flow_) {
    SetGuard(id, role == SerialRole::kTrigger ? kAlways : And(InputsGuard(id), ControlsGuard(id)));
  }
  switch (role) {
    case SerialRole::kSwitch:
      return VisitSwitch(id);
    case SerialRole::kExit:
      return VisitExit(id);
    case SerialRole::kAlias:
      for (int32_t i = 0; i < graph_->num_outputs(id); ++i) AliasOutput(id, i, i);
      if (graph_->num_outputs(id) == 1 && has_control_flow_ && graph_->op(id).op_class == OpClass::kLoopCond) {
        SerialLoop& loop = loops_[static_cast<size_t>(frame(id))];
        if (loop.condition >= 0 || guard(id) != kAlways) return Refuse(id, "is not the only condition of its loop");
        loop.condition = value({id, 0});
      }
      return;
    case SerialRole::kNextIteration:
      return AliasOutput(id, 0, 0);
    case SerialRole::kConst: {
      const int32_t constant = NewValue(id, false);
      values_[static_cast<size_t>(constant)].constant = kernels_->constant(*graph_, id);
      return SetOutput(id, 0, constant, guard(id));
    }
    case SerialRole::kReturn:
      Use(graph_->inputs(id)[0]);
      return;
    default:
      return VisitCompute(id);
  }
}

void SerialStructure::VisitCompute(NodeId id) {
  for (const Output& source : graph_->inputs(id)) Use(source);
  for (int32_t i = 0; i < graph_->num_outputs(id); ++i) {
    SetOutput(id, i, NewValue(id, IsRef(graph_->output_type(id, i))), guard(id));
  }
}

void SerialStructure::VisitSwitch(NodeId id) {
  const int32_t num_ports = graph_->num_outputs(id);
  const int32_t data = Use(graph_->inputs(id)[0]), pred = Use(graph_->inputs(id)[1]);
  const GuardId here = guard(id);
  if (here == kNever) {
    for (int32_t port = 0; port < num_ports; ++port) SetOutput(id, port, kNoValue, kNever);
    return;
  }
  if (!guards_.DeclarePredicate(pred, num_ports, values_[static_cast<size_t>(pred)].rank)) {
    return Refuse(id, "decides by a value by which another Switch decides otherwise");
  }
  if (values_[static_cast<size_t>(pred)].is_ref) return Refuse(id, "decides by a variable");
  switch_of_.emplace(pred, id);
  const int32_t handed_on = Dereferences(id, 0) ? NewValue(id, false) : data;
  for (int32_t port = 0; port < num_ports; ++port) {
    const std::optional<GuardId> taken = guards_.And(here, GuardLiteral{pred, port});
    if (!taken.has_value()) return Refuse(id, "is nested too deeply");
    SetOutput(id, port, handed_on, *taken);
  }
}

bool SerialStructure::IsLoopMerge(NodeId id) const {
  for (const Output& source : graph_->inputs(id)) {
    if (roles_[Index(source.node)] == SerialRole::kNextIteration) return true;
  }
  return false;
}

void SerialStructure::VisitMerge(NodeId id, GuardId controls) {
  if (IsLoopMerge(id)) return VisitLoopMerge(id, controls);
  std::vector<GuardId> guards;
  for (const Output& source : graph_->inputs(id)) {
    guards.push_back(output_guard(source));
    Use(source);
  }
  const std::optional<GuardId> joined = guards_.Join(guards);
  if (!joined.has_value()) return Refuse(id, "does not merge the sides of one Switch");
  SetGuard(id, *joined);
  SetOutput(id, 0, NewValue(id, IsRef(graph_->output_type(id, 0))), *joined);
  SetOutput(id, 1, NewValue(id, false), *joined);
}

void SerialStructure::VisitLoopMerge(NodeId id, GuardId controls) {
  const absl::Span<const Output> inputs = graph_->inputs(id);
  if (inputs.size() != 2 || controls != kAlways) return Refuse(id, "is not a plain loop variable");
  LoopVariable variable;
  variable.merge = id;
  for (const Output& source : inputs) {
    const SerialRole role = roles_[Index(source.node)];
    if (role == SerialRole::kEnter && !graph_->GetBool(source.node, "is_constant").value_or(true)) {
      variable.enter = source.node;
      variable.initial = graph_->inputs(source.node)[0];
    } else if (role == SerialRole::kNextIteration) {
      variable.next_iteration = source.node;
      variable.next = graph_->inputs(source.node)[0];
    }
  }
  if (!variable.enter.valid() || !variable.next_iteration.valid()) return Refuse(id, "is not a plain loop variable");
  SetGuard(id, kAlways);
  variable.value = NewValue(id, IsRef(graph_->output_type(id, 0)));
  values_.back().carried_by = frame(id);
  SetOutput(id, 0, variable.value, kAlways);
  loops_[static_cast<size_t>(frame(id))].variables.push_back(variable);
}

void SerialStructure::VisitEnter(NodeId id) {
  const GuardId here = And(InputsGuard(id), ControlsGuard(id));
  SerialLoop& loop = loops_[static_cast<size_t>(frame(id))];
  SetGuard(id, here);
  if (here == kNever) return Refuse(id, "stands under another condition than its loop");
  // A constant of the loop may come from further outside; CheckLoops looks at that.
  if (!graph_->GetBool(id, "is_constant").value_or(false)) {
    if (!loop.guard.valid()) {
      loop.guard = here;
      const int32_t parent = frames_.frames[static_cast<size_t>(frame(id))].parent;
      loop.rank = std::max(guards_.RankUnder(here), loops_[static_cast<size_t>(parent)].rank);
    }
    if (loop.guard != here) return Refuse(id, "stands under another condition than its loop");
  }
  const int32_t source = Use(graph_->inputs(id)[0]);
  if (Dereferences(id, 0)) return Refuse(id, "lets a variable's value into a loop");
  SetOutput(id, 0, source, kAlways);  // In its own frame, where its consumers are, it is always there.
}

void SerialStructure::VisitExit(NodeId id) {
  const SerialLoop& loop = loops_[static_cast<size_t>(frame(id))];
  const absl::Span<const GuardLiteral> literals = guards_.literals(guard(id));
  if (!loop.guard.valid() || literals.size() != 1 || literals[0] != GuardLiteral{loop.condition, 0}) {
    return Refuse(id, "does not leave its loop where the loop ends");
  }
  const int32_t source = Use(graph_->inputs(id)[0]);
  if (Dereferences(id, 0)) return Refuse(id, "lets a variable's value out of a loop");
  SerialValue& value = values_[static_cast<size_t>(source)];
  value.rank = std::max(value.rank, loop.rank);
  SetOutput(id, 0, source, loop.guard);
}

void SerialStructure::CheckLoops() {
  if (!has_control_flow_) return;
  for (size_t f = 1; f < loops_.size(); ++f) {
    SerialLoop& loop = loops_[f];
    const StaticFrame& info = frames_.frames[f];
    if (loop.condition < 0 || loop.variables.empty()) {
      if (why_not_.empty()) why_not_ = absl::StrCat("loop '", info.name, "' has no condition or no variable");
      return;
    }
    for (const NodeId id : info.enters) {
      if (And(guard(id), loop.guard) != loop.guard) return Refuse(id, "stands under another condition than its loop");
    }
    for (const NodeId id : info.nodes) {
      if (roles_[Index(id)] != SerialRole::kNextIteration) continue;
      const absl::Span<const GuardLiteral> literals = guards_.literals(guard(id));
      if (literals.size() != 1 || literals[0] != GuardLiteral{loop.condition, 1}) {
        return Refuse(id, "does not run exactly when its loop continues");
      }
    }
    for (const LoopVariable& variable : loop.variables) Use(variable.next);
  }
}

}  // namespace sluice
