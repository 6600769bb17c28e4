#include "graph/gradients/loop_frame.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/gradients/gradient.h"
#include "graph/ir/op_class.h"
#include "graph/value/tensor.h"

namespace sluice {
namespace {

// While it lives, added nodes get the names and device of no node.
class ScopeOf {
 public:
  ScopeOf(GradientEmitter& emitter, const std::string& name) : emitter_(emitter), kept_(emitter.SaveScope()) {
    emitter_.BeginScope(name);
  }
  ScopeOf(const ScopeOf&) = delete;
  ScopeOf& operator=(const ScopeOf&) = delete;
  ~ScopeOf() { emitter_.RestoreScope(std::move(kept_)); }

 private:
  GradientEmitter& emitter_;
  GradientEmitter::SavedScope kept_;
};

}  // namespace

LoopFrame::LoopFrame(const StaticFrame& forward, int32_t index, const ControlFlowInfo& info, LoopFrame* parent,
                     Conditions& conditions, GradientEmitter& emitter)
    : forward_(forward),
      index_(index),
      info_(info),
      parent_(parent),
      conditions_(conditions),
      emitter_(emitter),
      scope_(absl::StrCat("loop_", index)),
      name_(absl::StrCat(emitter.prefix(), "/", forward.name)) {}

EmitAttrs LoopFrame::EnterAttrs(const std::string& frame, bool is_constant) const {
  return {{"frame_name", AttrValue(frame)},
          {"is_constant", AttrValue(is_constant)},
          {"parallel_iterations", AttrValue(forward_.parallel_iterations)}};
}

Output LoopFrame::RecallInParent(const Output& forward) {
  return parent_ == nullptr ? forward : parent_->Recall(forward);
}

void LoopFrame::AddForwardCounter() {
  // Live if the loop is entered, and in each iteration of an outer loop that enters it.
  NodeId first = forward_.enters[0];
  for (const NodeId enter : forward_.enters) {
    if (!IsInvariant({enter, 0})) {
      first = enter;
      break;
    }
  }
  anchor_ = emitter_.AddNode("Identity", {emitter_.graph().inputs(first)[0]});
  const AttrValue zero(Tensor::Scalar<int32_t>(0)), one(Tensor::Scalar<int32_t>(1));
  const AttrValue type(DType::kInt32);
  // In a loop: wait for the pushes of the outer loop's previous iteration, through its counter.
  std::vector<NodeId> after = {anchor_};
  if (parent_ != nullptr) after.push_back(parent_->body_);
  const Output start = emitter_.Add("Const", {}, {{"dtype", type}, {"value", zero}}, after);
  const Output enter = emitter_.Add("Enter", {start}, EnterAttrs(forward_.name, false));
  const Variable count = Gate(AddMerge(enter), {forward_.loop_cond, 0});
  body_ = count.value.node;
  sync_ = emitter_.AddNode("ControlTrigger", {}, {}, {body_});
  const Output step = emitter_.Add("Const", {}, {{"dtype", type}, {"value", one}}, {body_});
  const Output sum = emitter_.Add("AddV2", {{body_, 0}, step}, {}, {sync_});
  trips_ = Close(count, sum);
}

Output LoopFrame::Begin(absl::Span<const NodeId> after) {
  const ScopeOf scope(emitter_, scope_);
  AddForwardCounter();
  Output count = RecallInParent(trips_);
  if (!after.empty()) {
    // Through a ControlTrigger, which is live even if they are dead.
    const NodeId all = emitter_.AddNode("ControlTrigger", {}, {}, after);
    count = {emitter_.AddNode("Identity", {count}, {}, {all}), 0};
  }
  const Output one = BringIn(emitter_.ConstantOutside(Tensor::Scalar<int32_t>(1)));
  const Output enter = emitter_.Add("Enter", {count}, EnterAttrs(name_, false));
  const Output merge = AddMerge(enter);
  condition_ = emitter_.Add("LoopCond", {emitter_.Add("GreaterEqual", {merge, one})});
  counter_ = Gate(merge, condition_);
  pivot_ = counter_.value.node;
  back_sync_ = emitter_.AddNode("ControlTrigger", {}, {}, {pivot_});
  Repeat(counter_, emitter_.Add("Sub", {counter_.value, one}, {}, {back_sync_}));
  // The outer loop goes on when all pops of this one are done.
  if (parent_ != nullptr) AddControl(parent_->back_sync_, End());
  return count;
}

NodeId LoopFrame::End() {
  if (end_.valid()) return end_;
  const ScopeOf scope(emitter_, scope_);
  end_ = emitter_.AddNode("Exit", {counter_.leaves});
  return end_;
}

void LoopFrame::AddControl(NodeId node, NodeId after) {
  if (emitter_.ok()) emitter_.Fail(emitter_.mutable_graph().AddControl(node, after));
}

Output LoopFrame::Enter(const Output& outside) {
  if (!outside.is_set()) return kNoOutput;
  const auto known = entered_.find(outside);
  if (known != entered_.end()) return known->second;
  const Output inside = emitter_.Add("Enter", {outside}, EnterAttrs(name_, true));
  entered_.try_emplace(outside, inside);
  return inside;
}

Output LoopFrame::BringIn(const Output& outside) {
  const auto known = brought_.find(outside);
  if (known != brought_.end()) return known->second;
  const Output inside = Enter(parent_ == nullptr ? outside : parent_->BringIn(outside));
  brought_.try_emplace(outside, inside);
  return inside;
}

Output LoopFrame::Source(Output forward) const {
  const Graph& graph = emitter_.graph();
  std::vector<Output> way;
  // Bounded by the graph: a cycle of Identities would have been refused.
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    if (!HandsOn(graph, forward.node)) break;
    const auto known = sources_.find(forward);
    const Output source =
        known != sources_.end() ? known->second : graph.inputs(forward.node)[static_cast<size_t>(forward.index)];
    if (IsRef(graph.output_type(source.node, source.index))) break;
    way.push_back(forward);
    forward = source;
  }
  for (const Output& output : way) sources_.try_emplace(output, forward);
  return forward;
}

bool LoopFrame::IsInvariant(const Output& forward) const {
  const Graph& graph = emitter_.graph();
  // Nodes added to the forward loop have no recorded frame; treat them as varying.
  if (!emitter_.facts().IsForward(forward) || info_.frame(forward.node) != index_) return false;
  if (graph.op(forward.node).op_class == OpClass::kConst) return true;
  if (graph.op(forward.node).op_class != OpClass::kEnter) return false;
  const absl::StatusOr<bool> is_constant = graph.GetBool(forward.node, "is_constant");
  return is_constant.ok() && *is_constant;
}

Output LoopFrame::RecallInvariant(const Output& forward) {
  const Graph& graph = emitter_.graph();
  const NodeId node = forward.node;
  if (graph.op(node).op_class == OpClass::kEnter) {
    const ScopeOf scope(emitter_, scope_);
    return Enter(RecallInParent(graph.inputs(node)[0]));
  }
  AttrView value;
  if (!graph.FindAttr(node, "value", &value)) return kNoOutput;
  return BringIn(emitter_.ConstantOutsideFrom(AttrValue::FromBytes(value.bytes()), graph.output_type(node, 0)));
}

Conditions::List LoopFrame::LocalConditions(const Output& forward) {
  Conditions::List local;
  for (const Conditions::Condition& condition : conditions_.Of(forward)) {
    const NodeId predicate = condition.predicate.node;
    if (emitter_.graph().op(predicate).op_class == OpClass::kLoopCond) continue;
    // A predicate that was added to the forward loop has no recorded frame: ignore it.
    if (!emitter_.facts().IsForward(condition.predicate)) continue;
    // The Exit of an inner loop counts as being in this one.
    const int32_t frame = info_.frame(predicate);
    const bool is_exit = emitter_.graph().op(predicate).op_class == OpClass::kExit;
    if ((is_exit ? info_.frames[static_cast<size_t>(frame)].parent : frame) == index_) local.push_back(condition);
  }
  conditions_.SortByDepth(&local);
  return local;
}

Expr LoopFrame::Beside(const Output& forward, const Expr& value) {
  // Tie it to the iteration: a value of invariants alone would run ahead.
  Expr beside = emitter_.Value({emitter_.AddNode("Identity", {emitter_.Here(value)}, {}, {pivot_}), 0});
  for (const Conditions::Condition& condition : LocalConditions(forward)) {
    if (!emitter_.ok()) return beside;
    const Expr predicate = emitter_.Value(Recall(condition.predicate));
    beside = emitter_.Gate(beside, predicate, condition.num_ports).out(condition.port);
  }
  return beside;
}

Output LoopFrame::EnterForward(const Output& outside) {
  const Output around = parent_ == nullptr ? outside : parent_->EnterForward(outside);
  return emitter_.Add("Enter", {around}, EnterAttrs(forward_.name, true));
}

Output LoopFrame::NewStack(const Output& value) {
  if (!emitter_.ok()) return kNoOutput;
  const DType type = BaseType(emitter_.graph().output_type(value.node, value.index));
  const Output size = emitter_.ConstantOutside(Tensor::Scalar<int32_t>(-1));
  return emitter_.Add("StackV2", {size}, {{"elem_type", AttrValue(type)}});
}

Output LoopFrame::RecallByStack(const Output& forward) {
  const Conditions::List& conditions = conditions_.Of(forward);
  const Output loop_cond{forward_.loop_cond, 0};
  const bool is_in_body = std::binary_search(conditions.begin(), conditions.end(), Conditions::Condition{loop_cond, 1});
  // Recall predicates before the names change: they have names of their own.
  for (const Conditions::Condition& condition : LocalConditions(forward)) Recall(condition.predicate);
  const ScopeOf scope(emitter_, scope_);
  const Output stack = NewStack(forward);
  const Output handle = EnterForward(stack);
  // The head of the loop runs once more than its body.
  Output value = forward;
  if (!is_in_body) value = {emitter_.AddGate(forward, loop_cond), 1};
  const NodeId push = emitter_.AddNode("StackPushV2", {handle, value}, {}, {body_});
  AddControl(sync_, push);
  return GiveBack(stack, forward);
}

Output LoopFrame::GiveBack(const Output& stack, const Output& forward) {
  if (!emitter_.ok()) return kNoOutput;
  const Conditions::List local = LocalConditions(forward);
  // Recall predicates before the names change: they have names of their own.
  for (const Conditions::Condition& condition : local) Recall(condition.predicate);
  const ScopeOf scope(emitter_, scope_);
  Output back = BringIn(stack);
  for (const Conditions::Condition& condition : local) {
    back = {emitter_.AddGate(back, Recall(condition.predicate), condition.num_ports), condition.port};
  }
  if (!emitter_.ok()) return kNoOutput;
  const DType type = BaseType(emitter_.graph().output_type(forward.node, forward.index));
  const NodeId pop = emitter_.AddNode("StackPopV2", {back}, {{"elem_type", AttrValue(type)}}, {pivot_});
  AddControl(back_sync_, pop);
  return {pop, 0};
}

Output LoopFrame::Keep(const Output& value) {
  const ScopeOf scope(emitter_, scope_);
  const Output stack = NewStack(value);
  if (!stack.is_set()) return kNoOutput;
  AddControl(back_sync_, emitter_.AddNode("StackPushV2", {BringIn(stack), value}, {}, {pivot_}));
  return stack;
}

Output LoopFrame::Recall(const Output& wanted) {
  if (!emitter_.ok()) return kNoOutput;
  const auto known = recalled_.find(wanted);
  if (known != recalled_.end()) return known->second;
  const Output forward = Source(wanted);
  Output here = kNoOutput;
  if (forward != wanted) {
    here = Recall(forward);
  } else {
    here = IsInvariant(forward) ? RecallInvariant(forward) : RecallByStack(forward);
  }
  if (!here.is_set()) return here;
  recalled_.try_emplace(wanted, here);
  forward_of_.try_emplace(here, wanted);
  return here;
}

Output LoopFrame::ForwardOf(const Output& here) const {
  const auto known = forward_of_.find(here);
  return known == forward_of_.end() ? kNoOutput : known->second;
}

bool LoopFrame::IsAtHand(const Output& forward) const {
  return recalled_.contains(forward) || IsInvariant(Source(forward));
}

Output LoopFrame::AddMerge(const Output& enter) {
  if (!emitter_.ok()) return kNoOutput;
  const AttrValue type(BaseType(emitter_.graph().output_type(enter.node, 0)));
  return {emitter_.AddNode("Merge", {enter, kNoOutput}, {{"T", type}, {"N", AttrValue(2)}}, {}, true), 0};
}

LoopFrame::Variable LoopFrame::Gate(const Output& merge, const Output& condition) {
  const NodeId gate = emitter_.AddGate(merge, condition);
  return {merge, emitter_.Add("Identity", {{gate, 1}}), {gate, 0}};
}

void LoopFrame::Repeat(const Variable& variable, const Output& next) {
  const Output back = emitter_.Add("NextIteration", {next});
  if (emitter_.ok()) emitter_.Fail(emitter_.mutable_graph().SetInput(variable.merge.node, 1, back));
}

LoopFrame::Variable LoopFrame::AddVariable(const Output& start) {
  return Gate(AddMerge(emitter_.Add("Enter", {start}, EnterAttrs(name_, false))), condition_);
}

Output LoopFrame::Close(const Variable& variable, const Output& next) {
  Repeat(variable, next);
  return emitter_.Add("Exit", {variable.leaves});
}

}  // namespace sluice
