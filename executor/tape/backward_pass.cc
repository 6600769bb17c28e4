#include "executor/tape/backward_pass.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/plan/node_error.h"
#include "executor/step_ids.h"
#include "executor/tape/call_limits.h"
#include "executor/tape/custom_call.h"
#include "executor/tape/grad_check.h"
#include "executor/tape/grad_mode.h"
#include "executor/tape/node_hooks.h"
#include "executor/tape/saved_values.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

BackwardPass*& ThisThreadsPass() {
  thread_local BackwardPass* pass = nullptr;
  return pass;
}

// Adds to `status` where its node was recorded.
absl::Status AtOrigin(const absl::Status& status, const TapeNode& node) {
  if (status.ok() || node.origin == nullptr) return status;
  absl::Status longer(
      status.code(), absl::StrCat(status.message(), "\n  ", node.name(), " was recorded at ", node.origin->ToString()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { longer.SetPayload(url, payload); });
  return longer;
}

}  // namespace

BackwardPass::BackwardPass(TapeCore& core, const PassPlan& plan, const Options& options)
    : core_(core),
      plan_(plan),
      options_(options),
      run_(core.run()),
      buffers_(plan.num_buffers()),
      is_done_(plan.items().size(), false),
      outer_(ThisThreadsPass()) {
  for (const PassPlan::Item& item : plan.items()) waits_for_.push_back(item.dependencies);
  run_.step_id = NewStepId();
  run_.cancellation = options.cancellation != nullptr ? options.cancellation : CallLimitsScope::Current();
  run_.cancel_on_error = false;  // The caller owns the cancellation.
  if (outer_ != nullptr && outer_->run_.cancellation != nullptr) LinkCancellation();
  ThisThreadsPass() = this;
}

BackwardPass::~BackwardPass() { ThisThreadsPass() = outer_; }

void BackwardPass::LinkCancellation() {
  CancellationManager* const outer = outer_->run_.cancellation;
  CancellationManager* const own = run_.cancellation;
  run_.cancellation = outer;
  if (own == nullptr) return;
  for (const BackwardPass* pass = outer_; pass != nullptr; pass = pass->outer_) {
    if (pass->run_.cancellation == own || pass->linked_ == own) return;  // `outer` passes it on.
  }
  linked_ = own;
  both_.emplace(outer);
  run_.cancellation = &both_->manager();
  link_.emplace(*own, both_->manager());
}

BackwardPass::Inside::Inside(BackwardPass* pass) : before_(ThisThreadsPass()) { ThisThreadsPass() = pass; }
BackwardPass::Inside::~Inside() { ThisThreadsPass() = before_; }

BackwardPass* BackwardPass::Current() { return ThisThreadsPass(); }

absl::Status BackwardPass::Seed(const TapeEdge& root, int32_t place, TapeValue seed) {
  return Add(run_, &buffers_[plan_.items()[static_cast<size_t>(place)].first_buffer + root.slot], std::move(seed));
}

void BackwardPass::Capture(size_t k, const TapeEdge& target, int32_t place) {
  if (captures_.size() <= k) captures_.resize(k + 1);
  captures_[k].place = place;
  captures_[k].slot = target.slot;
}

absl::Status BackwardPass::CheckCancelled() const {
  // Also cancelled with each pass around this one (LinkCancellation).
  if (run_.cancellation == nullptr || !run_.cancellation->IsCancelled()) return absl::OkStatus();
  for (const BackwardPass* pass = this; pass != nullptr; pass = pass->outer_) {
    const CancellationManager* const cancellation = pass->options_.cancellation;
    if (cancellation == nullptr || !cancellation->IsCancelled()) continue;
    const absl::Status cause = cancellation->status();
    return cause.ok() ? Error(ErrorCode::kRunCancelled).Text("the backward pass was cancelled") : cause;
  }
  return run_.cancellation->status();
}

absl::Status BackwardPass::Run() {
  const GradModeScope mode(options_.creates_graph);
  bool was_run = false;
  if (core_.structures().is_used() && IsPlain()) SLUICE_RETURN_IF_ERROR(RunAsGraph(&was_run));
  if (!was_run) SLUICE_RETURN_IF_ERROR(RunNodes());
  return RunCallbacks();
}

absl::Status BackwardPass::RunCallbacks() {
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    // Moved out first: the call may queue others, which moves the vector.
    absl::AnyInvocable<absl::Status()> callback = std::move(callbacks_[i]);
    try {
      SLUICE_RETURN_IF_ERROR(callback());
    } catch (...) {
      return StatusOfException();
    }
  }
  return absl::OkStatus();
}

absl::Status BackwardPass::RunNodes() {
  SortCaptures();
  // Run the roots that are leaves.
  for (const int32_t place : plan_.root_places()) {
    if (place < 0 || waits_for_[static_cast<size_t>(place)] > 0) continue;
    const auto i = static_cast<size_t>(place);
    const bool is_leaf = plan_.items()[i].node->kind == TapeNode::Kind::kAccumulate;
    if (is_leaf && !is_done_[i]) SLUICE_RETURN_IF_ERROR(RunReady(i));
  }
  for (size_t i = 0; i < plan_.items().size(); ++i) {
    if (!is_done_[i]) SLUICE_RETURN_IF_ERROR(RunReady(i));
  }
  return absl::OkStatus();
}

// Runs a node, then each leaf whose last gradient it gave.
absl::Status BackwardPass::RunReady(size_t i) {
  const PassPlan::Item& item = plan_.items()[i];
  is_done_[i] = true;
  if (!item.runs && !item.is_target && !item.is_only_root) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(CheckCancelled());
  const EvaluatedNode evaluated(*item.node);
  const auto grads = absl::MakeSpan(buffers_).subspan(item.first_buffer, item.node->outputs.size());
  const absl::Status status = RunNode(i, grads);
  for (TapeValue& grad : grads) grad = TapeValue();
  if (!status.ok()) return AtOrigin(status, *item.node);
  if (!item.runs) return absl::OkStatus();
  for (size_t e = 0; e < item.node->edges.size(); ++e) {
    const int32_t target = plan_.Target(i, e);
    if (target < 0 || --waits_for_[static_cast<size_t>(target)] > 0) continue;
    const auto ready = static_cast<size_t>(target);
    const bool is_leaf = plan_.items()[ready].node->kind == TapeNode::Kind::kAccumulate;
    if (is_leaf && !is_done_[ready]) SLUICE_RETURN_IF_ERROR(RunReady(ready));
  }
  return absl::OkStatus();
}

absl::Status BackwardPass::RunNode(size_t i, absl::Span<TapeValue> grads) {
  const PassPlan::Item& item = plan_.items()[i];
  TapeNode& node = *item.node;
  HookCalls hooks(core_, node);
  // As in PyTorch, the captures of a node that runs are taken before its hooks change them.
  if (item.is_target && item.runs) KeepCaptures(i, grads);
  if (hooks.has_hooks()) SLUICE_RETURN_IF_ERROR(hooks.CallGradHooks(grads));
  if (item.is_target && !item.runs) KeepCaptures(i, grads);
  if (!item.runs) return absl::OkStatus();
  if (hooks.has_hooks()) SLUICE_RETURN_IF_ERROR(hooks.CallPreHooks(grads));
  // As in PyTorch, post hooks that are added while the node runs do not see these.
  std::vector<TapeValue> kept;
  if (hooks.has_post_hooks()) kept.assign(grads.begin(), grads.end());
  if (node.kind == TapeNode::Kind::kAccumulate) return RunLeaf(node, std::move(grads[0]), hooks, kept);
  std::vector<TapeValue> input_grads(node.edges.size());
  SLUICE_RETURN_IF_ERROR(Evaluate(i, grads, &input_grads));
  if (node.kind == TapeNode::Kind::kOp) SLUICE_RETURN_IF_ERROR(CheckInputGrads(i, &input_grads));
  if (hooks.has_post_hooks()) SLUICE_RETURN_IF_ERROR(hooks.CallPostHooks(&input_grads, kept));
  if (ChecksNan()) SLUICE_RETURN_IF_ERROR(CheckNan(node, input_grads));
  for (size_t e = 0; e < input_grads.size(); ++e) {
    const int32_t target = plan_.Target(i, e);
    if (target < 0 || !input_grads[e].is_set()) continue;
    const PassPlan::Item& to = plan_.items()[static_cast<size_t>(target)];
    SLUICE_RETURN_IF_ERROR(Add(run_, &buffers_[to.first_buffer + node.edges[e].slot], std::move(input_grads[e])));
  }
  return absl::OkStatus();
}

void BackwardPass::KeepCaptures(size_t i, absl::Span<const TapeValue> grads) {
  const auto place = static_cast<int32_t>(i);
  const auto comes_before = [&](uint32_t k, int32_t p) { return captures_[k].place < p; };
  auto at = std::lower_bound(captures_by_place_.begin(), captures_by_place_.end(), place, comes_before);
  for (; at != captures_by_place_.end() && captures_[*at].place == place; ++at) {
    CaptureSpot& spot = captures_[*at];
    spot.value = grads[spot.slot];
    if (!options_.creates_graph) spot.value.history = TapeEdge();
  }
}

void BackwardPass::SortCaptures() {
  for (uint32_t k = 0; k < captures_.size(); ++k) captures_by_place_.push_back(k);
  std::sort(captures_by_place_.begin(), captures_by_place_.end(),
            [&](uint32_t a, uint32_t b) { return captures_[a].place < captures_[b].place; });
}

absl::Status BackwardPass::CheckInputGrads(size_t i, std::vector<TapeValue>* input_grads) {
  const TapeNode& node = *plan_.items()[i].node;
  for (size_t e = 0; e < input_grads->size(); ++e) {
    TapeValue& grad = (*input_grads)[e];
    const TapeEdge& edge = node.edges[e];
    if (!grad.is_set() || plan_.Target(i, e) < 0) continue;
    const GradientMeta& meta = edge.node->outputs[edge.slot];
    if (grad.value.dtype() == meta.dtype && grad.value.shape() == meta.shape) continue;
    SLUICE_RETURN_IF_ERROR(CheckGrad(core_, meta, node.name(), e, &grad));
  }
  return absl::OkStatus();
}

absl::Status BackwardPass::CheckNan(const TapeNode& node, absl::Span<const TapeValue> input_grads) const {
  for (size_t e = 0; e < input_grads.size(); ++e) {
    if (!input_grads[e].is_set() || !HasNan(input_grads[e].value)) continue;
    return Error(ErrorCode::kOpBroken)
        .Node(node.name(), node.name())
        .Text(absl::StrCat("gave NaN values in its output ", e));
  }
  return absl::OkStatus();
}

SlotSet BackwardPass::WantsOf(size_t i) const {
  SlotSet wants;
  for (size_t e = 0; e < plan_.items()[i].node->edges.size(); ++e) {
    if (plan_.Target(i, e) >= 0) wants.Add(e);
  }
  return wants;
}

absl::Status BackwardPass::Evaluate(size_t i, absl::Span<TapeValue> grads, std::vector<TapeValue>* input_grads) {
  if (plan_.items()[i].node->kind == TapeNode::Kind::kCustom) return EvaluateCustom(i, grads, input_grads);
  for (const TapeValue& grad : grads) {
    if (grad.is_set()) return EvaluateOp(i, grads, input_grads);
  }
  return PassOver(*plan_.items()[i].node, options_.keeps_graph);
}

absl::Status BackwardPass::EvaluateCustom(size_t i, absl::Span<TapeValue> grads, std::vector<TapeValue>* input_grads) {
  TapeNode& node = *plan_.items()[i].node;
  std::vector<Var> given;
  for (size_t slot = 0; slot < grads.size(); ++slot) {
    if (!grads[slot].is_set() && node.custom->materializes_grads) {
      SLUICE_ASSIGN_OR_RETURN(grads[slot].value, node.custom->ZerosOf(slot));
    }
    given.push_back(grads[slot].is_set() ? VarOf(core_, std::move(grads[slot])) : Var());
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Var> results,
                          node.custom->RunBackward(core_, node, std::move(given), WantsOf(i)));
  std::vector<SavedVar> released;
  if (!options_.keeps_graph) {
    MutexLock lock(&node.mu);
    released = node.custom->Release();
  }
  const std::string name = node.name();
  const auto is_defined = [](const Var& result) { return result.defined(); };
  const bool has_too_many =
      results.size() > node.edges.size() &&
      std::any_of(results.begin() + static_cast<std::ptrdiff_t>(node.edges.size()), results.end(), is_defined);
  if (has_too_many || results.size() < node.edges.size()) {
    return Error(ErrorCode::kTapeFunction)
        .Node(name, name)
        .Text("gave an incorrect number of gradients")
        .Found(absl::StrCat(results.size()))
        .Expected(absl::StrCat(node.edges.size()));
  }
  for (size_t e = 0; e < node.edges.size(); ++e) {
    if (!results[e].defined()) continue;
    SLUICE_RETURN_IF_ERROR(CheckTape(core_, results[e]));
    TapeValue grad{results[e].value(), results[e].state()->history};
    const TapeEdge& edge = node.edges[e];
    // Checked for inputs that need no gradient too: post hooks see theirs.
    if (edge.is_set()) SLUICE_RETURN_IF_ERROR(CheckGrad(core_, edge.node->outputs[edge.slot], name, e, &grad));
    (*input_grads)[e] = std::move(grad);
  }
  return absl::OkStatus();
}

absl::Status BackwardPass::Add(const RunContext& run, TapeValue* sum, TapeValue term) {
  if (!sum->is_set()) {
    *sum = std::move(term);
    return absl::OkStatus();
  }
  const DType type = sum->value.dtype();
  if (add_ == nullptr || add_->input_type(0) != type) {
    SLUICE_ASSIGN_OR_RETURN(add_, FindAdd(core_.ops(), type));
  }
  if (options_.creates_graph) {
    TapeValue added;
    SLUICE_RETURN_IF_ERROR(CallOp(core_, add_, {OpInput::Of(*sum), OpInput::Of(term)}, absl::MakeSpan(&added, 1)));
    *sum = std::move(added);
    return absl::OkStatus();
  }
  sum->history = TapeEdge();  // This sum is not recorded.
  Entry slots[3];
  slots[0].SetValue(std::move(sum->value));
  slots[1].SetValue(std::move(term.value));
  const absl::Status added = add_->Run(run, slots);
  Entry& result = slots[added.ok() || !slots[0].value().has_value() ? 2 : 0];  // A failed op may have taken its input.
  if (result.has_value()) sum->value = std::move(result.value());
  return added;
}

absl::Status BackwardPass::RunLeaf(TapeNode& node, TapeValue grad, HookCalls& hooks, absl::Span<const TapeValue> kept) {
  const Var leaf = FindLeaf(node);
  if (grad.is_set()) SLUICE_RETURN_IF_ERROR(Accumulate(node, leaf, std::move(grad)));
  if (!hooks.has_hooks()) return absl::OkStatus();
  if (leaf.defined()) SLUICE_RETURN_IF_ERROR(hooks.CallAccumulateHooks(leaf));
  std::vector<TapeValue> none;
  return hooks.CallPostHooks(&none, kept);
}

absl::Status BackwardPass::Accumulate(TapeNode& node, const Var& leaf, TapeValue grad) {
  if (!(leaf.defined() ? leaf.is_leaf() : node.leaf->is_leaf)) {
    return Error(ErrorCode::kTapeLeafAssigned)
        .Node(node.name(), node.name())
        .Text("adds to a leaf that has been assigned a computed value since, and is not a leaf any more");
  }
  // The leaf has no handles left, or requires no gradient any more.
  if (!leaf.requires_grad()) return absl::OkStatus();
  // Done before the lock: this may free a node, and with it a hook whose destructor looks at the leaf.
  if (!options_.creates_graph) grad.history = TapeEdge();
  Var replaced;
  MutexLock lock(&leaf.state()->mu);
  return AddTo(*leaf.state(), std::move(grad), &replaced);
}

absl::Status BackwardPass::AddTo(VarState& leaf, TapeValue grad, Var* replaced) {
  if (!leaf.grad.defined()) {
    leaf.grad = VarOf(core_, std::move(grad));
    return absl::OkStatus();
  }
  VarState& before = *leaf.grad.state();
  if (options_.creates_graph) {
    TapeValue sum{before.value, before.history};
    SLUICE_RETURN_IF_ERROR(Add(core_.run(), &sum, std::move(grad)));
    *replaced = std::exchange(leaf.grad, VarOf(core_, std::move(sum)));
    return absl::OkStatus();
  }
  // Add in place, so that all holders of the gradient see the sum. A cancellation would leave it half added, so this
  // sum has none.
  TapeValue sum{std::move(before.value), TapeEdge()};
  const absl::Status added = Add(core_.run(), &sum, std::move(grad));
  before.value = std::move(sum.value);
  if (added.ok()) before.version.fetch_add(1, std::memory_order_relaxed);
  return added;
}

}  // namespace sluice
