#include "executor/tape/custom_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/plan/node_error.h"
#include "executor/tape/grad_check.h"
#include "executor/tape/grad_mode.h"
#include "executor/tape/record.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

bool Contains(absl::Span<const Var> vars, const Var& var) {
  return std::any_of(vars.begin(), vars.end(), [&](const Var& other) { return SameVar(var, other); });
}

// Ends the retaining of this output's gradient.
void StopRetaining(const TapeEdge& edge) {
  MutexLock lock(&edge.node->mu);
  NodeHooks* const hooks = edge.node->hooks.get();
  if (hooks == nullptr || hooks->outputs.size() <= edge.slot) return;
  hooks->outputs[edge.slot].retains = CountedPtr<VarState>();
  edge.node->has_hooks.store(!hooks->empty(), std::memory_order_relaxed);
}

// The history of gradients that cannot be differentiated again: its Backward fails.
class DifferentiatedTwice final : public CustomFunction {
 public:
  explicit DifferentiatedTwice(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  absl::StatusOr<std::vector<Var>> Forward(FunctionContext&, absl::Span<const Var>) override {
    return std::vector<Var>();
  }
  absl::StatusOr<std::vector<Var>> Backward(FunctionContext&, absl::Span<const Var>) override {
    return Error(ErrorCode::kTapeNoDerivative)
        .Node(name_, name_)
        .Text("is differentiated a second time, but is declared differentiable once only");
  }

 private:
  const std::string name_;
};

}  // namespace

// --- FunctionContext -------------------------------------------------------------------------------------------------

bool FunctionContext::IsForward(const char* method) {
  if (node_ == nullptr) return true;
  misuse_ = Error(ErrorCode::kTapeFunction)
                .Node(call_.function->name(), call_.function->name())
                .Text(absl::StrCat("calls ", method, " in Backward: it belongs into Forward"));
  return false;
}

void FunctionContext::SaveForBackward(std::vector<Var> vars) {
  if (IsForward("SaveForBackward")) call_.to_save = std::move(vars);
}

void FunctionContext::MarkNonDifferentiable(const Var& output) {
  if (IsForward("MarkNonDifferentiable")) call_.non_differentiable.push_back(output);
}

void FunctionContext::MarkDirty(const Var& input) {
  if (IsForward("MarkDirty")) call_.dirty.push_back(input);
}

void FunctionContext::SetMaterializeGrads(bool materialize) {
  if (IsForward("SetMaterializeGrads")) call_.materializes_grads = materialize;
}

bool FunctionContext::NeedsInputGrad(size_t i) const { return (wants_ & SlotSet::BitOf(i)) != 0; }

std::any& FunctionContext::StateOfCall() { return call_.state; }

absl::StatusOr<std::vector<Var>> FunctionContext::Saved() const {
  if (node_ == nullptr) {
    return Error(ErrorCode::kTapeFunction)
        .Node(call_.function->name(), call_.function->name())
        .Text("reads saved variables outside of Backward");
  }
  return call_.Unpack(core_, *node_);
}

// --- Forward ---------------------------------------------------------------------------------------------------------

absl::StatusOr<std::vector<Var>> CustomCall::RunForward(TapeCore& core, absl::Span<const Var> inputs, SlotSet wants) {
  const NoGradScope no_grad;
  FunctionContext context(*this, core, nullptr, wants.bits());
  try {
    return function->Forward(context, inputs);
  } catch (...) {
    return WithNode(StatusOfException(), function->name(), "Forward");
  }
}

std::vector<Var> CustomCall::Apply(TapeCore& core, const std::shared_ptr<CustomFunction>& function,
                                   absl::Span<const Var> inputs) {
  if (function == nullptr) return {Var::Failed(Error(ErrorCode::kTapeFunction).Text("there is no function to apply"))};
  for (const Var& input : inputs) {
    if (!input.status().ok()) return {input};
    if (input.defined() && input.state()->core != &core) {
      return {Var::Failed(Error(ErrorCode::kTapeForeign)
                              .Node(function->name(), function->name())
                              .Text("has an input that is a variable of another tape"))};
    }
  }
  const CountedPtr<TapeNode> node = MakeCounted<TapeNode>(TapeNode::Kind::kCustom, 0);
  for (const Var& input : inputs) {
    const bool flows = IsRecording() && input.requires_grad() && HasGradient(input.dtype());
    node->edges.push_back(flows ? input.state()->history : TapeEdge());
  }
  node->custom = std::make_unique<CustomCall>(function);
  CustomCall& call = *node->custom;
  absl::StatusOr<std::vector<Var>> outputs = call.RunForward(core, inputs, node->wants());
  const bool is_recorded = !node->wants().empty();
  absl::Status status = outputs.status();
  if (status.ok()) status = call.CheckForward(core, inputs, *outputs, is_recorded);
  if (status.ok()) {
    // Taken after Forward, whose calls thus have smaller numbers.
    node->sequence = core.NextSequence();
    if (DetectsAnomalies()) node->origin = PlaceOfThread(function->name());
    call.WrapOutputs(core, is_recorded ? node : CountedPtr<TapeNode>(), inputs, &*outputs);
    if (is_recorded) {
      MutexLock lock(&node->mu);
      call.Save(*outputs);
    }
  }
  // Cleared: their history may be the node, which would keep itself.
  call.to_save.clear();
  call.dirty.clear();
  call.non_differentiable.clear();
  if (!status.ok()) return {Var::Failed(status)};
  return *std::move(outputs);
}

absl::Status CustomCall::Wrong(std::string text) const {
  return Error(ErrorCode::kTapeFunction).Node(function->name(), function->name()).Text(text);
}

absl::Status CustomCall::CheckForward(const TapeCore& core, absl::Span<const Var> inputs, absl::Span<const Var> outputs,
                                      bool records) const {
  for (const Var& var : to_save) SLUICE_RETURN_IF_ERROR(CheckTape(core, var));
  for (const Var& var : dirty) {
    if (!Contains(outputs, var)) {
      return Wrong("marks as dirty what it does not give as an output: inputs that it assigns to must all be outputs");
    }
    if (var.requires_grad() && Contains(non_differentiable, var)) {
      return Wrong(
          "marks as dirty and as non-differentiable a variable that requires a gradient: it would keep a history that "
          "its value no longer has");
    }
  }
  for (size_t slot = 0; slot < outputs.size(); ++slot) {
    const Var& output = outputs[slot];
    SLUICE_RETURN_IF_ERROR(CheckTape(core, output));
    const bool gets_copy = Contains(inputs, output) && !Contains(dirty, output);
    const bool gets_history = records && output.defined() && HasGradient(output.dtype()) && !gets_copy &&
                              !Contains(non_differentiable, output) && !Contains(outputs.first(slot), output);
    if (gets_history && output.is_leaf() && output.requires_grad()) {
      return Error(ErrorCode::kTapeLeafAssigned)
          .Node(function->name(), function->name())
          .Text(absl::StrCat("gives as output ", slot, " a leaf that requires a gradient, and has assigned to it"));
    }
  }
  return absl::OkStatus();
}

void CustomCall::WrapOutputs(TapeCore& core, const CountedPtr<TapeNode>& node, absl::Span<const Var> inputs,
                             std::vector<Var>* outputs) {
  for (uint32_t slot = 0; slot < outputs->size(); ++slot) {
    Var& output = (*outputs)[slot];
    const bool has_gradient = output.defined() && HasGradient(output.dtype()) && !Contains(non_differentiable, output);
    if (node) {
      node->outputs.push_back({has_gradient ? output.dtype() : DType::kInvalid, output.shape()});
      output_metas.push_back({output.dtype(), output.shape()});
    }
    const auto first = absl::MakeConstSpan(*outputs).first(slot);
    if (output.defined() && Contains(first, output)) output = VarOf(core, {output.value(), TapeEdge()});
    if (!output.defined()) continue;
    WrapOutput(core, has_gradient ? node : CountedPtr<TapeNode>(), inputs, slot, &output);
  }
}

void CustomCall::WrapOutput(TapeCore& core, const CountedPtr<TapeNode>& node, absl::Span<const Var> inputs,
                            uint32_t slot, Var* output) {
  const bool is_input = Contains(inputs, *output);
  if (is_input && !Contains(dirty, *output)) {
    // The function gets a variable of its own.
    *output = VarOf(core, {output->value(), TapeEdge()});
  }
  VarState& state = *output->state();
  if (!node) return;
  const bool retains = is_input && output->retains_grad();
  if (retains) StopRetaining(state.history);
  state.history = {node, slot};
  state.is_leaf = false;
  // As after Assign, retain the gradient of the value that the variable has now.
  if (retains) (void)output->RetainGrad();
  if (is_input) output->ClearGrad();
}

void CustomCall::Save(absl::Span<const Var> outputs) {
  for (const Var& var : to_save) {
    SavedVar kept;
    kept.is_defined = var.defined();
    if (kept.is_defined) {
      VarState& state = *var.state();
      kept.value = {state.value, CountedPtr<VarState>::Share(&state), state.version.load(std::memory_order_relaxed)};
      kept.history = state.history;
    }
    for (size_t i = 0; kept.is_defined && i < outputs.size(); ++i) {
      if (!SameVar(outputs[i], var)) continue;
      kept.output = static_cast<int32_t>(i);
      kept.history = TapeEdge();
    }
    if (kept.is_defined && kept.output < 0 && var.is_leaf()) {
      CountedPtr<VarState> leaf = kept.value.var;
      leaf->AddSaver();
      kept.saver = LeafSaver(leaf.release());
      kept.accumulator = kept.saver->accumulator();
    }
    saved.push_back(std::move(kept));
  }
}

// --- Backward --------------------------------------------------------------------------------------------------------

absl::StatusOr<std::vector<CustomCall::Unpacked>> CustomCall::CheckSaved(TapeNode& node) const {
  std::vector<Unpacked> found;
  MutexLock lock(&node.mu);
  const std::string name = node.name();
  if (is_released) {
    return Error(ErrorCode::kTapeFreed)
        .Node(name, name)
        .Text("backward through this node a second time: its saved values were freed by the first pass")
        .Help("set retain_graph in the first one");
  }
  for (const SavedVar& kept : saved) {
    found.emplace_back();
    if (!kept.is_defined) continue;
    const uint32_t version = kept.value.var->version.load(std::memory_order_relaxed);
    if (version != kept.value.version) {
      return Error(ErrorCode::kTapeModified)
          .Node(name, name)
          .Text(absl::StrCat("needs saved variable ", found.size() - 1, ", ", DTypeName(kept.value.value.dtype()), " ",
                             kept.value.value.shape().ToString(), ", which has been modified by an assignment since"))
          .Found(absl::StrCat("version ", version))
          .Expected(absl::StrCat("version ", kept.value.version));
    }
    TapeEdge history = kept.history;
    const bool has_gradient =
        kept.output >= 0 && node.outputs[static_cast<size_t>(kept.output)].dtype != DType::kInvalid;
    if (has_gradient) history = {CountedPtr<TapeNode>::Share(&node), static_cast<uint32_t>(kept.output)};
    found.back() = {
        {kept.value.value, std::move(history)}, CountedPtr<VarState>::Share(kept.saver.get()), kept.accumulator};
  }
  return found;
}

absl::StatusOr<std::vector<Var>> CustomCall::Unpack(TapeCore& core, TapeNode& node) const {
  SLUICE_ASSIGN_OR_RETURN(std::vector<Unpacked> found, CheckSaved(node));
  std::vector<Var> vars;
  for (Unpacked& one : found) {
    Var leaf;
    if (one.leaf) leaf = one.accumulator ? FindLeaf(*one.accumulator) : one.leaf->Lock();
    if (leaf.defined() && leaf.is_leaf()) {
      vars.push_back(std::move(leaf));
    } else {
      vars.push_back(one.value.is_set() ? VarOf(core, std::move(one.value)) : Var());
    }
  }
  return vars;
}

absl::StatusOr<Tensor> CustomCall::ZerosOf(size_t slot) const {
  if (slot >= output_metas.size()) return Tensor();  // DifferentiatedTwice does not read it.
  const GradientMeta& meta = output_metas[slot];
  const bool is_number = HasGradient(meta.dtype) && meta.dtype != DType::kVariant;
  if (!is_number && !IsInteger(meta.dtype) && meta.dtype != DType::kBool) return Tensor();
  return Tensor::MakeZeros(meta.dtype, meta.shape);
}

std::vector<SavedVar> CustomCall::Release() {
  is_released = is_released || !saved.empty();
  return std::exchange(saved, {});
}

absl::StatusOr<std::vector<Var>> CustomCall::RunBackward(TapeCore& core, TapeNode& node, std::vector<Var> grads,
                                                         SlotSet wants) {
  const bool records = IsRecording() && !function->is_once_differentiable();
  absl::StatusOr<std::vector<Var>> results = [&]() -> absl::StatusOr<std::vector<Var>> {
    const GradModeScope mode(records);
    FunctionContext context(*this, core, &node, wants.bits());
    try {
      absl::StatusOr<std::vector<Var>> given = function->Backward(context, grads);
      if (given.ok() && !context.misuse().ok()) return context.misuse();
      return given;
    } catch (...) {
      return WithNode(StatusOfException(), node.name(), "Backward");
    }
  }();
  if (!results.ok()) return WithNode(results.status(), node.name(), "Backward");
  if (records || !IsRecording()) return results;
  // As in PyTorch: without a gradient of an output that depends on something the results are constants. Otherwise
  // differentiating them must fail, so give them a node whose Backward returns an error; it leads nowhere.
  const auto depends = [](const Var& grad) { return grad.requires_grad(); };
  if (!std::any_of(grads.begin(), grads.end(), depends)) return results;
  const CountedPtr<TapeNode> twice = MakeCounted<TapeNode>(TapeNode::Kind::kCustom, core.NextSequence());
  twice->custom = std::make_unique<CustomCall>(std::make_shared<DifferentiatedTwice>(function->name()));
  for (uint32_t slot = 0; slot < results->size(); ++slot) {
    Var& result = (*results)[slot];
    const bool has_gradient = result.defined() && result.status().ok() && HasGradient(result.dtype());
    twice->outputs.push_back({has_gradient ? result.dtype() : DType::kInvalid, result.shape()});
    if (has_gradient) result = VarOf(core, {result.value(), {twice, slot}});
  }
  return results;
}

}  // namespace sluice
