#include "executor/tape/record.h"

#include <execinfo.h>

#include <cstdlib>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "executor/tape/grad_mode.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradient.h"

namespace sluice {
namespace {

// Whether gradients of a value of this type are recorded: numbers only.
bool HasGradient(DType type) { return IsDifferentiable(type) && type != DType::kResource && type != DType::kVariant; }

const TapeNode*& ThisThreadsNode() {
  thread_local const TapeNode* node = nullptr;
  return node;
}

// Slots of one call: on the stack where they are few.
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

// Whether the call is one that gradients flow through.
bool IsRecorded(const EagerOp& op, absl::Span<const OpInput> inputs) {
  if (!op.is_differentiable() || !IsRecording()) return false;
  for (const OpInput& input : inputs) {
    if (input.history != nullptr && input.history->is_set()) return true;
  }
  return false;
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

// Saves what the gradient reads: all, where that is not known yet.
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

// The gradient of a call whose only output has one: what flows to it is known before the pass.
std::shared_ptr<const GradientTemplate> GradientAtCall(TapeCore& core, const EagerOp& op, const TapeNode& node,
                                                       absl::Span<const OpInput> inputs,
                                                       absl::Span<const TapeValue> outputs) {
  if (outputs.size() != 1) return nullptr;
  absl::InlinedVector<const Tensor*, 6> in;
  for (const OpInput& input : inputs) in.push_back(input.value);
  const Tensor* const out = &outputs[0].value;
  SlotSet dys;
  dys.Add(0);
  // An op without a gradient fails the pass that needs it, not the call.
  absl::StatusOr<std::shared_ptr<const GradientTemplate>> found =
      FindGradient(core.ops(), {op, in, absl::MakeConstSpan(&out, 1)}, node.wants(), dys);
  return found.ok() ? *std::move(found) : nullptr;
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

// If the call has saved this output of its own, the variable's version is that of the saved value.
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

std::string PlaceOfThread(absl::string_view what) {
  std::string place(what);
  for (const PlaceScope* scope = PlaceScope::Innermost(); scope != nullptr; scope = scope->outer()) {
    place = absl::StrCat(scope->name(), "/", place);
  }
  constexpr int kFrames = 12;
  void* frames[kFrames];
  const int count = backtrace(frames, kFrames);
  char** const symbols = backtrace_symbols(frames, count);
  if (symbols == nullptr) return place;
  for (int i = 2; i < count; ++i) absl::StrAppend(&place, "\n    ", symbols[i]);
  std::free(symbols);  // NOLINT: allocated by the system's library.
  const TapeNode* const node = ThisThreadsNode();
  if (node != nullptr)
    absl::StrAppend(&place, "\n  while ", node->name(), " ran, which was recorded at ", node->origin);
  return place;
}

absl::Status CallOp(TapeCore& core, const std::shared_ptr<const EagerOp>& op, absl::Span<const OpInput> inputs,
                    absl::Span<TapeValue> outputs) {
  const size_t num_inputs = inputs.size();
  CallSlots slots(num_inputs + outputs.size());
  Entry* const entries = slots.get();
  for (size_t i = 0; i < num_inputs; ++i) entries[i].SetValue(*inputs[i].value);
  SLUICE_RETURN_IF_ERROR(op->Run(core.run(), entries));
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

Var VarOf(TapeCore& core, TapeValue value) {
  auto state = std::make_unique<VarState>(&core, std::move(value.value));
  state->history = std::move(value.history);
  state->is_leaf = !state->history.is_set();
  if (!state->is_leaf && state->history.node->kind == TapeNode::Kind::kOp) BindSaved(*state);
  return Var::Adopt(state.release());
}

Var LeafOf(TapeCore& core, Tensor value) {
  auto state = std::make_unique<VarState>(&core, std::move(value));
  AddAccumulator(*state);
  return Var::Adopt(state.release());
}

absl::Status CheckTape(const TapeCore& core, const Var& var) {
  SLUICE_RETURN_IF_ERROR(var.status());
  if (!var.defined() || var.state()->core == &core) return absl::OkStatus();
  return Error(ErrorCode::kWrongUse).Text("the variable is one of another tape");
}

void AddAccumulator(VarState& leaf) {
  leaf.history.node = MakeCounted<TapeNode>(TapeNode::Kind::kAccumulate, leaf.core->NextSequence());
  leaf.history.node->leaf = CountedPtr<VarState>::Share(&leaf);
  leaf.history.node->outputs.push_back({leaf.value.dtype(), leaf.value.shape()});
}

}  // namespace sluice
