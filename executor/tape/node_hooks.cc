#include "executor/tape/node_hooks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/plan/node_error.h"
#include "executor/tape/grad_check.h"
#include "executor/tape/grad_mode.h"
#include "executor/tape/var_state.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// Calls the user's code; exceptions become statuses.
template <typename Call>
auto CallUser(const TapeNode& node, Call&& call) -> decltype(call()) {
  try {
    auto result = call();
    return result;
  } catch (...) {
    return WithNode(StatusOfException(), node.name(), "hook");
  }
}

absl::Status GaveGradientWhereNone(const TapeNode& node, size_t i) {
  const std::string hook = absl::StrCat("hook of ", node.name());
  return Error(ErrorCode::kTapeHook)
      .Node(hook, hook)
      .Text(absl::StrCat("gave a gradient at index ", i, ", where there was none"));
}

TapeValue ValueOf(const Var& var) { return {var.value(), var.state()->history}; }

}  // namespace

std::vector<size_t> HookCalls::OutputsWithHooks() const {
  std::vector<std::pair<uint64_t, size_t>> ordered;
  MutexLock lock(&node_.mu);
  if (node_.hooks == nullptr) return {};
  for (size_t slot = 0; slot < node_.hooks->outputs.size(); ++slot) {
    const HookList<GradHook>& hooks = node_.hooks->outputs[slot].hooks;
    if (hooks.order() > 0) ordered.emplace_back(hooks.order(), slot);
  }
  std::sort(ordered.begin(), ordered.end());
  std::vector<size_t> slots;
  for (const auto& [order, slot] : ordered) slots.push_back(slot);
  return slots;
}

HookList<GradHook>::Hooks HookCalls::OfOutput(size_t slot) const {
  MutexLock lock(&node_.mu);
  return node_.hooks != nullptr ? node_.hooks->outputs[slot].hooks.hooks() : HookList<GradHook>::Hooks();
}

absl::Status HookCalls::CallGradHooks(absl::Span<TapeValue> grads) {
  for (const size_t slot : OutputsWithHooks()) SLUICE_RETURN_IF_ERROR(CallHooksOf(slot, &grads[slot]));
  return RetainGrads(grads);
}

absl::Status HookCalls::CallHooksOf(size_t slot, TapeValue* grad) {
  for (const auto& [number, hook] : OfOutput(slot)) {
    const Var seen = grad->is_set() ? VarOf(core_, *grad) : Var();
    SLUICE_ASSIGN_OR_RETURN(const Var given, CallUser(node_, [&, &h = *hook] { return h(seen); }));
    if (!given.defined()) continue;
    SLUICE_RETURN_IF_ERROR(CheckTape(core_, given));
    if (!grad->is_set()) return GaveGradientWhereNone(node_, slot);
    SLUICE_RETURN_IF_ERROR(
        CheckReplacement(node_.outputs[slot], absl::StrCat("hook of ", node_.name()), slot, given.value()));
    *grad = ValueOf(given);
  }
  return absl::OkStatus();
}

absl::Status HookCalls::RetainGrads(absl::Span<const TapeValue> grads) {
  for (size_t slot = 0; slot < grads.size(); ++slot) {
    if (!grads[slot].is_set()) continue;
    CountedPtr<VarState> retains;
    {
      MutexLock lock(&node_.mu);
      if (node_.hooks == nullptr || slot >= node_.hooks->outputs.size()) break;
      retains = node_.hooks->outputs[slot].retains;
    }
    if (!retains) continue;
    const Var retaining = retains->Lock();
    if (retaining.defined()) SLUICE_RETURN_IF_ERROR(Retain(*retaining.state(), grads[slot]));
  }
  return absl::OkStatus();
}

absl::Status HookCalls::Retain(VarState& var, const TapeValue& grad) const {
  for (;;) {
    Var before;
    {
      MutexLock lock(&var.mu);
      before = var.grad;
    }
    TapeValue sum;
    if (before.defined()) {
      SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const EagerOp> add, FindAdd(core_.ops(), grad.value.dtype()));
      SLUICE_RETURN_IF_ERROR(CallOp(core_, add, {OpInput::Of(before), OpInput::Of(grad)}, absl::MakeSpan(&sum, 1)));
    } else {
      sum = grad;
    }
    if (!IsRecording()) sum.history = TapeEdge();
    Var now = VarOf(core_, std::move(sum));
    MutexLock lock(&var.mu);
    // Another pass may have added meanwhile: try again with that sum.
    if (!SameVar(var.grad, before)) continue;
    std::swap(var.grad, now);
    return absl::OkStatus();
  }
}

std::vector<Var> HookCalls::VarsOf(absl::Span<const TapeValue> values) const {
  std::vector<Var> vars;
  for (const TapeValue& value : values) vars.push_back(value.is_set() ? VarOf(core_, value) : Var());
  return vars;
}

absl::Status HookCalls::Replace(std::vector<Var> replacements, absl::Span<TapeValue> grads, bool of_inputs) const {
  if (replacements.empty()) return absl::OkStatus();
  const std::string hook = absl::StrCat("hook of ", node_.name());
  if (replacements.size() != grads.size()) {
    return Error(ErrorCode::kTapeHook)
        .Node(hook, hook)
        .Text("gave a wrong number of gradients")
        .Found(absl::StrCat(replacements.size()))
        .Expected(absl::StrCat(grads.size(), ", or none at all"));
  }
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!replacements[i].defined()) {
      grads[i] = TapeValue();
      continue;
    }
    SLUICE_RETURN_IF_ERROR(CheckTape(core_, replacements[i]));
    if (!grads[i].is_set()) return GaveGradientWhereNone(node_, i);
    const GradientMeta meta =
        of_inputs ? GradientMeta{grads[i].value.dtype(), grads[i].value.shape()} : node_.outputs[i];
    SLUICE_RETURN_IF_ERROR(CheckReplacement(meta, hook, i, replacements[i].value()));
    grads[i] = ValueOf(replacements[i]);
  }
  return absl::OkStatus();
}

absl::Status HookCalls::CallPreHooks(absl::Span<TapeValue> grads) {
  for (const auto& [number, hook] : Listed(&NodeHooks::pre)) {
    const std::vector<Var> seen = VarsOf(grads);
    SLUICE_ASSIGN_OR_RETURN(std::vector<Var> given, CallUser(node_, [&, &h = *hook] { return h(seen); }));
    SLUICE_RETURN_IF_ERROR(Replace(std::move(given), grads, /*of_inputs=*/false));
  }
  return absl::OkStatus();
}

absl::Status HookCalls::CallPostHooks(std::vector<TapeValue>* input_grads, absl::Span<const TapeValue> output_grads) {
  const std::vector<Var> outputs = VarsOf(output_grads);
  for (const auto& [number, hook] : Listed(&NodeHooks::post)) {
    const std::vector<Var> inputs = VarsOf(*input_grads);
    SLUICE_ASSIGN_OR_RETURN(std::vector<Var> given, CallUser(node_, [&, &h = *hook] { return h(inputs, outputs); }));
    SLUICE_RETURN_IF_ERROR(Replace(std::move(given), absl::MakeSpan(*input_grads), /*of_inputs=*/true));
  }
  return absl::OkStatus();
}

absl::Status HookCalls::CallAccumulateHooks(const Var& leaf) {
  for (const auto& [number, hook] : Listed(&NodeHooks::accumulate)) {
    SLUICE_RETURN_IF_ERROR(CallUser(node_, [&, &h = *hook] { return h(leaf); }));
  }
  return absl::OkStatus();
}

}  // namespace sluice
