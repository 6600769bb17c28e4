#include "executor/tape/record.h"

#include <execinfo.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "executor/plan/node_error.h"
#include "executor/tape/call_limits.h"
#include "executor/tape/grad_mode.h"
#include "executor/tape/saved_values.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

const TapeNode*& ThisThreadsNode() {
  thread_local const TapeNode* node = nullptr;
  return node;
}

// The slots of one call, on the stack if they are few.
class CallSlots {
 public:
  explicit CallSlots(size_t count) {
    if (count > kFew) many_ = std::make_unique<Entry[]>(count);
  }
  Entry* get() { return many_ != nullptr ? many_.get() : few_; }

 private:
  static constexpr size_t kFew = 6;
  Entry few_[kFew];
  std::unique_ptr<Entry[]> many_;
};

// Whether gradients flow through the call and this thread records.
bool IsRecorded(const EagerOp& op, absl::Span<const OpInput> inputs) {
  if (!op.is_differentiable() || !IsRecording()) return false;
  for (const OpInput& input : inputs) {
    if (input.history != nullptr && input.history->is_set()) return true;
  }
  return false;
}

// Runs `op` within the limits of this thread's calls.
absl::Status RunOp(const RunContext& run, const EagerOp& op, Entry* slots) {
  CancellationManager* const limits = CallLimitsScope::Current();
  if (limits == nullptr) return op.Run(run, slots);
  RunContext limited = run;
  limited.cancellation = limits;
  limited.cancel_on_error = false;
  absl::Status status = limits->IsCancelling() ? limits->status() : op.Run(limited, slots);
  // The scope knows the reason; the kernel only reports that it was cancelled.
  if (absl::IsCancelled(status) && limits->IsCancelling()) status = limits->status();
  return status.ok() ? status : WithNode(status, op.node().name(), op.name());
}

void SaveValue(TapeNode& node, const Tensor& value, VarState* var) ABSL_EXCLUSIVE_LOCKS_REQUIRED(node.mu) {
  SavedValue saved;
  saved.value = value;
  if (var != nullptr) {
    saved.var = CountedPtr<VarState>::Share(var);
    saved.version = var->version.load(std::memory_order_relaxed);
  }
  node.saved.push_back(std::move(saved));
}

// Saves the values that the gradient reads; all, if the gradient is not known yet.
void SaveValues(TapeNode& node, absl::Span<const OpInput> inputs, absl::Span<const TapeValue> outputs) {
  MutexLock lock(&node.mu);
  if (node.gradient != nullptr) {
    for (const GradientTemplate::Saved& saved : node.gradient->saved()) {
      if (saved.is_output) {
        SaveValue(node, outputs[saved.index].value, nullptr);
      } else {
        SaveValue(node, *inputs[saved.index].value, inputs[saved.index].var);
      }
    }
    return;
  }
  for (const OpInput& input : inputs) SaveValue(node, *input.value, input.var);
  for (const TapeValue& output : outputs) SaveValue(node, output.value, nullptr);
}

// Whether the gradient of all outputs also serves if only some have gradients, with zeros for the others: it does if it
// reads only arguments of the call. Other ops may do better once they know which outputs have gradients.
bool ServesSomeOutputs(const GradientTemplate& gradient, absl::Span<const OpInput> inputs,
                       absl::Span<const TapeValue> outputs) {
  for (const TapeValue& output : outputs) {
    // Zeros of a variant depend on what it holds.
    if (!HasGradient(output.value.dtype()) || output.value.dtype() == DType::kVariant) return false;
  }
  return std::all_of(gradient.saved().begin(), gradient.saved().end(), [&](const GradientTemplate::Saved& saved) {
    return !saved.is_output && IsArgument(*inputs[saved.index].value);
  });
}

// Finds the gradient at the call, for ops with one output and those that take values apart (Split, Unpack), which then
// save none of them. Null: it is found in the pass, which knows which outputs have gradients.
std::shared_ptr<const GradientTemplate> GradientAtCall(TapeCore& core, const EagerOp& op, const TapeNode& node,
                                                       absl::Span<const OpInput> inputs,
                                                       absl::Span<const TapeValue> outputs) {
  // An op without a gradient fails in the pass that needs it, not in the call.
  if (op.row() == nullptr || op.row()->kind != GradientRow::Kind::kFunction) return nullptr;
  if (outputs.size() != 1 && op.lacks_joint_gradient()) return nullptr;
  absl::InlinedVector<const Tensor*, 6> in, out;
  for (const OpInput& input : inputs) in.push_back(input.value);
  for (const TapeValue& output : outputs) out.push_back(&output.value);
  SlotSet dys;
  for (size_t i = 0; i < outputs.size(); ++i) dys.Add(i);
  absl::StatusOr<std::shared_ptr<const GradientTemplate>> found =
      FindGradient(core.ops(), {op, in, out}, node.wants(), dys);
  if (outputs.size() == 1) return found.ok() ? *std::move(found) : nullptr;
  if (found.ok() && ServesSomeOutputs(**found, inputs, outputs)) return *std::move(found);
  op.SetLacksJointGradient();
  return nullptr;
}

void Record(TapeCore& core, const std::shared_ptr<const EagerOp>& op, absl::Span<const OpInput> inputs,
            absl::Span<TapeValue> outputs) {
  const CountedPtr<TapeNode> node = MakeCounted<TapeNode>(TapeNode::Kind::kOp, core.NextSequence());
  node->op = op;
  for (const OpInput& input : inputs) {
    const bool flows = input.history != nullptr && input.history->is_set() && HasGradient(input.value->dtype());
    node->edges.push_back(flows ? *input.history : TapeEdge());
  }
  for (const TapeValue& output : outputs) {
    const DType type = output.value.dtype();
    node->outputs.push_back({HasGradient(type) ? type : DType::kInvalid, output.value.shape()});
  }
  node->gradient = GradientAtCall(core, *op, *node, inputs, outputs);
  if (DetectsAnomalies()) node->origin = PlaceOfThread(op->name());
  SaveValues(*node, inputs, outputs);
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    if (HasGradient(outputs[i].value.dtype())) outputs[i].history = {node, i};
  }
}

// If the call has saved this output, ties the saved value to the variable's version.
void BindSaved(VarState& state) {
  TapeNode& node = *state.history.node;
  const uint32_t slot = state.history.slot;
  const auto is_output = [&](size_t k) {
    if (node.gradient == nullptr) return k == node.edges.size() + slot;
    const GradientTemplate::Saved& saved = node.gradient->saved()[k];
    return saved.is_output && saved.index == slot;
  };
  if (node.gradient != nullptr && !node.gradient->saves_outputs()) return;
  MutexLock lock(&node.mu);
  for (size_t k = 0; k < node.saved.size(); ++k) {
    if (is_output(k) && !node.saved[k].var) node.saved[k].var = CountedPtr<VarState>::Share(&state);
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const GradientTemplate>> FindGradient(EagerOps& ops, const OpCall& call, SlotSet wants,
                                                                     SlotSet dys) {
  std::shared_ptr<const GradientTemplate> found =
      call.op.FindGradient([&](const GradientTemplate& kept) { return kept.Fits(call, wants, dys); });
  if (found != nullptr) return found;
  SLUICE_ASSIGN_OR_RETURN(found, GradientTemplate::Make(ops, call, wants, dys));
  call.op.KeepGradient(found);
  return found;
}

EvaluatedNode::EvaluatedNode(const TapeNode* node) : outer_(ThisThreadsNode()) { ThisThreadsNode() = node; }
const TapeNode* EvaluatedNode::Current() { return ThisThreadsNode(); }
EvaluatedNode::~EvaluatedNode() { ThisThreadsNode() = outer_; }

std::shared_ptr<NodeOrigin> PlaceOfThread(absl::string_view what) {
  auto origin = std::make_shared<NodeOrigin>();
  const TapeNode* const node = ThisThreadsNode();
  if (node != nullptr) {
    origin->parent_name = node->name();
    origin->parent = node->origin != nullptr ? node->origin : std::make_shared<NodeOrigin>();
  }
  std::string& place = origin->place;
  place = std::string(what);
  for (const PlaceScope* scope = PlaceScope::Innermost(); scope != nullptr; scope = scope->outer()) {
    place = absl::StrCat(scope->name(), "/", place);
  }
  constexpr int kFrames = 12;
  void* frames[kFrames];
  const int count = backtrace(frames, kFrames);
  char** const symbols = backtrace_symbols(frames, count);
  if (symbols == nullptr) return origin;
  for (int i = 2; i < count; ++i) absl::StrAppend(&place, "\n    ", symbols[i]);
  std::free(symbols);  // NOLINT: allocated by the system's library.
  return origin;
}

absl::Status CallOp(TapeCore& core, const std::shared_ptr<const EagerOp>& op, absl::Span<const OpInput> inputs,
                    absl::Span<TapeValue> outputs) {
  const size_t num_inputs = inputs.size();
  CallSlots slots(num_inputs + outputs.size());
  Entry* const entries = slots.get();
  for (size_t i = 0; i < num_inputs; ++i) entries[i].SetValue(*inputs[i].value);
  SLUICE_RETURN_IF_ERROR(RunOp(core.run(), *op, entries));
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].value = std::move(entries[num_inputs + i].value());
  if (IsRecorded(*op, inputs)) Record(core, op, inputs, outputs);
  return absl::OkStatus();
}

absl::Status CallOp(TapeCore& core, absl::string_view name, const EagerOp::Attrs& attrs,
                    absl::Span<const OpInput> inputs, std::vector<TapeValue>* outputs) {
  absl::InlinedVector<DType, 6> types;
  for (const OpInput& input : inputs) types.push_back(input.value->dtype());
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const EagerOp> op, core.ops().Find(name, attrs, types));
  outputs->resize(op->num_outputs());
  return CallOp(core, op, inputs, absl::MakeSpan(*outputs));
}

absl::StatusOr<std::shared_ptr<const EagerOp>> FindAdd(EagerOps& ops, DType type) {
  if (type == DType::kVariant) return ops.Find("AddN", {{"N", 2}}, {type, type});
  return ops.Find("AddV2", {}, {type, type});
}

Var VarOf(TapeCore& core, TapeValue value) {
  auto state = std::make_unique<VarState>(&core, std::move(value.value));
  state->history = std::move(value.history);
  state->is_leaf = !state->history.is_set();
  if (!state->is_leaf && state->history.node->kind == TapeNode::Kind::kOp) BindSaved(*state);
  return Var::Adopt(state.release());
}

Var ConstantOf(TapeCore& core, Tensor value) {
  if (value.has_value()) return VarOf(core, {std::move(value), TapeEdge()});
  return Var::Failed(Error(ErrorCode::kTapeUndefined).Text("a variable needs a value, and this tensor has none"));
}

Var LeafOf(TapeCore& core, Tensor value) {
  auto state = std::make_unique<VarState>(&core, std::move(value));
  AddAccumulator(*state);
  return Var::Adopt(state.release());
}

absl::Status CheckDefined(const Var& var) {
  return var.defined() ? var.status() : Error(ErrorCode::kTapeUndefined).Text("the variable is undefined");
}

absl::Status CheckTape(const TapeCore& core, const Var& var) {
  SLUICE_RETURN_IF_ERROR(var.status());
  if (!var.defined() || var.state()->core == &core) return absl::OkStatus();
  return Error(ErrorCode::kTapeForeign).Text("the variable is one of another tape");
}

void AddAccumulator(VarState& leaf) {
  CountedPtr<TapeNode> node = MakeCounted<TapeNode>(TapeNode::Kind::kAccumulate, leaf.core->NextSequence());
  node->leaf = CountedPtr<VarState>::Share(&leaf);
  node->outputs.push_back({leaf.value.dtype(), leaf.value.shape()});
  {
    MutexLock lock(&node->mu);
    node->left = std::make_unique<LeftLeaf>();
  }
  leaf.history.node = std::move(node);
}

}  // namespace sluice
