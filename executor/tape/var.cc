#include "executor/tape/var.h"

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/tape/grad_mode.h"
#include "executor/tape/ops.h"
#include "executor/tape/record.h"
#include "executor/tape/tape_core.h"
#include "executor/tape/tape_node.h"
#include "executor/tape/var_state.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

absl::Status WrongUse(absl::string_view text) { return Error(ErrorCode::kWrongUse).Text(text); }

// kWrongUse where there is no variable to work on, or what it failed with.
absl::Status CheckDefined(const Var& var) {
  return var.defined() ? var.status() : WrongUse("the variable is undefined");
}

absl::Status EmptyHook() { return WrongUse("the hook is empty"); }

// The hooks of a node, made where there are none. REQUIRES: its mutex is held.
NodeHooks& HooksOf(TapeNode& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(node.mu) {
  if (node.hooks == nullptr) node.hooks = std::make_unique<NodeHooks>();
  node.has_hooks.store(true, std::memory_order_relaxed);
  return *node.hooks;
}

NodeHooks::OfOutput& HooksOfOutput(const TapeEdge& edge) ABSL_EXCLUSIVE_LOCKS_REQUIRED(edge.node->mu) {
  NodeHooks& hooks = HooksOf(*edge.node);
  if (hooks.outputs.size() <= edge.slot) hooks.outputs.resize(edge.slot + 1);
  return hooks.outputs[edge.slot];
}

// Removes a hook from the list that `list_of` finds among the node's; null: there is none.
template <typename ListOf>
absl::Status RemoveFrom(TapeNode& node, size_t number, ListOf list_of) {
  decltype(list_of(std::declval<NodeHooks&>())->Remove(number)) removed;  // Freed behind the lock: it is the user's.
  MutexLock lock(&node.mu);
  auto* const list = node.hooks != nullptr ? list_of(*node.hooks) : nullptr;
  if (list != nullptr) removed = list->Remove(number);
  if (removed == nullptr) {
    return Error(ErrorCode::kWrongUse).Text("there is no hook of this number").Found(absl::StrCat(number));
  }
  node.has_hooks.store(!node.hooks->empty(), std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace

// --- NodeRef ---------------------------------------------------------------------------------------------------------

NodeRef::NodeRef() = default;
NodeRef::NodeRef(CountedPtr<TapeNode> node) : node_(std::move(node)) {}
NodeRef::NodeRef(const NodeRef& other) = default;
NodeRef::NodeRef(NodeRef&& other) noexcept = default;
NodeRef& NodeRef::operator=(NodeRef other) noexcept {
  std::swap(node_, other.node_);
  return *this;
}
NodeRef::~NodeRef() = default;

std::string NodeRef::name() const { return node_ ? node_->name() : ""; }
uint64_t NodeRef::sequence() const { return node_ ? node_->sequence : 0; }

std::vector<NodeRef> NodeRef::next() const {
  std::vector<NodeRef> next;
  if (!node_) return next;
  for (const TapeEdge& edge : node_->edges) next.emplace_back(edge.node);
  return next;
}

absl::StatusOr<size_t> NodeRef::AddPreHook(NodePreHook hook) {
  if (!node_) return WrongUse("an undefined node has no hooks");
  if (hook == nullptr) return EmptyHook();
  MutexLock lock(&node_->mu);
  return HooksOf(*node_).pre.Add(std::move(hook));
}

absl::StatusOr<size_t> NodeRef::AddPostHook(NodePostHook hook) {
  if (!node_) return WrongUse("an undefined node has no hooks");
  if (hook == nullptr) return EmptyHook();
  MutexLock lock(&node_->mu);
  return HooksOf(*node_).post.Add(std::move(hook));
}

absl::Status NodeRef::RemovePreHook(size_t number) {
  if (!node_) return WrongUse("an undefined node has no hooks");
  return RemoveFrom(*node_, number, [](NodeHooks& hooks) { return &hooks.pre; });
}

absl::Status NodeRef::RemovePostHook(size_t number) {
  if (!node_) return WrongUse("an undefined node has no hooks");
  return RemoveFrom(*node_, number, [](NodeHooks& hooks) { return &hooks.post; });
}

// --- VarState --------------------------------------------------------------------------------------------------------

void VarState::DropContent() {
  const Tensor dropped_value = std::move(value);
  const TapeEdge dropped_history = std::move(history);
  const CountedPtr<TapeNode> dropped_frozen = std::move(frozen);
  Var dropped_grad;
  MutexLock lock(&mu);
  std::swap(grad, dropped_grad);
}

// --- Var -------------------------------------------------------------------------------------------------------------

Var::Var(const Var& other) : state_(other.state_) {
  if (state_ != nullptr) state_->AddHandle();
}

Var::~Var() {
  if (state_ != nullptr) state_->DropHandle();
}

Var Var::Failed(absl::Status status) {
  // For when there is no memory to say so. Never destroyed.
  static VarState& no_memory = *std::make_unique<VarState>(OutOfMemoryError()).release();
  try {
    return Adopt(std::make_unique<VarState>(std::move(status)).release());
  } catch (const std::bad_alloc&) {
    no_memory.AddHandle();
    return Adopt(&no_memory);
  }
}

absl::Status Var::status() const { return state_ != nullptr ? state_->status : absl::OkStatus(); }

const Tensor& Var::value() const {
  static const Tensor& none = *std::make_unique<Tensor>().release();  // Never destroyed.
  return state_ != nullptr ? state_->value : none;
}

bool Var::requires_grad() const { return state_ != nullptr && state_->requires_grad(); }
bool Var::is_leaf() const { return state_ == nullptr || state_->is_leaf; }
NodeRef Var::grad_fn() const { return is_leaf() ? NodeRef() : NodeRef(state_->history.node); }
NodeRef Var::accumulator() const { return requires_grad() && is_leaf() ? NodeRef(state_->history.node) : NodeRef(); }

uint32_t Var::version() const { return state_ != nullptr ? state_->version.load(std::memory_order_relaxed) : 0; }

absl::Status Var::SetRequiresGrad(bool requires_grad) {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  if (!is_leaf()) {
    return requires_grad ? absl::OkStatus() : WrongUse("only leaves can be told to require no gradient: use Detach");
  }
  if (requires_grad == this->requires_grad()) return absl::OkStatus();
  if (!requires_grad) {
    state_->frozen = std::exchange(state_->history, TapeEdge()).node;
    return absl::OkStatus();
  }
  if (state_->frozen) {
    state_->history.node = std::move(state_->frozen);
    return absl::OkStatus();
  }
  if (!HasGradient(dtype()) || dtype() == DType::kVariant) {
    return Error(ErrorCode::kWrongUse)
        .Text("only real and complex numbers can require a gradient")
        .Found(DTypeName(dtype()));
  }
  AddAccumulator(*state_);
  return absl::OkStatus();
}

Var Var::Detach() const {
  if (state_ == nullptr || state_->core == nullptr) return *this;
  return VarOf(*state_->core, {state_->value, TapeEdge()});
}

Var Var::grad() const {
  if (state_ == nullptr) return Var();
  MutexLock lock(&state_->mu);
  return state_->grad;
}

Var Var::TakeGrad() {
  Var taken;
  if (state_ == nullptr) return taken;
  MutexLock lock(&state_->mu);
  std::swap(state_->grad, taken);
  return taken;
}

absl::Status Var::SetGrad(const Var& grad) {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  SLUICE_RETURN_IF_ERROR(CheckTape(*state_->core, grad));
  if (grad.defined() && SameVar(grad, *this)) return WrongUse("a variable cannot be its own gradient");
  if (grad.defined() && (grad.dtype() != dtype() || grad.shape() != shape())) {
    return Error(ErrorCode::kOpShape)
        .Text("a gradient must have the type and the shape of its variable")
        .Found(absl::StrCat(DTypeName(grad.dtype()), " ", grad.shape().ToString()))
        .Expected(absl::StrCat(DTypeName(dtype()), " ", shape().ToString()));
  }
  Var other = grad;
  MutexLock lock(&state_->mu);
  std::swap(state_->grad, other);
  return absl::OkStatus();
}

absl::Status Var::RetainGrad() {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  if (!requires_grad()) return WrongUse("a variable that requires no gradient cannot retain one");
  if (is_leaf()) return absl::OkStatus();
  MutexLock lock(&state_->history.node->mu);
  HooksOfOutput(state_->history).retains = CountedPtr<VarState>::Share(state_);
  return absl::OkStatus();
}

bool Var::retains_grad() const {
  if (!requires_grad() || is_leaf()) return false;
  MutexLock lock(&state_->history.node->mu);
  const NodeHooks* const hooks = state_->history.node->hooks.get();
  return hooks != nullptr && hooks->outputs.size() > state_->history.slot &&
         hooks->outputs[state_->history.slot].retains.get() == state_;
}

absl::StatusOr<size_t> Var::AddHook(GradHook hook) {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  if (!requires_grad()) return WrongUse("a variable that requires no gradient has no hooks");
  if (hook == nullptr) return EmptyHook();
  MutexLock lock(&state_->history.node->mu);
  return HooksOfOutput(state_->history).hooks.Add(std::move(hook));
}

absl::StatusOr<size_t> Var::AddAccumulateHook(AccumulateHook hook) {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  if (!requires_grad() || !is_leaf()) return WrongUse("only leaves that require a gradient accumulate one");
  if (hook == nullptr) return EmptyHook();
  MutexLock lock(&state_->history.node->mu);
  return HooksOf(*state_->history.node).accumulate.Add(std::move(hook));
}

absl::Status Var::RemoveHook(size_t number) {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  if (!requires_grad()) return WrongUse("a variable that requires no gradient has no hooks");
  return RemoveFrom(*state_->history.node, number, [slot = state_->history.slot](NodeHooks& hooks) {
    return slot < hooks.outputs.size() ? &hooks.outputs[slot].hooks : nullptr;
  });
}

absl::Status Var::RemoveAccumulateHook(size_t number) {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  if (!requires_grad()) return WrongUse("a variable that requires no gradient has no hooks");
  return RemoveFrom(*state_->history.node, number, [](NodeHooks& hooks) { return &hooks.accumulate; });
}

absl::Status Var::Assign(const Var& result) {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  SLUICE_RETURN_IF_ERROR(CheckDefined(result));
  if (!IsRecording() || !result.requires_grad()) return AssignValue(result);
  // An op of its own, since hooks, retained and captured gradients of `result` are not those of this variable.
  return AssignValue(CallOp("Identity", {result}));
}

absl::Status Var::Assign(Var&& result) {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  SLUICE_RETURN_IF_ERROR(CheckDefined(result));
  const Var taken = std::move(result);
  const bool is_last = taken.state_->has_one_handle() && !taken.is_leaf();
  return is_last ? AssignValue(taken) : Assign(taken);
}

absl::Status Var::AssignValue(const Var& result) {
  SLUICE_RETURN_IF_ERROR(CheckTape(*state_->core, result));
  if (IsRecording() && is_leaf() && requires_grad()) {
    return Error(ErrorCode::kWrongUse)
        .Text("a leaf that requires a gradient cannot be assigned to while ops are recorded")
        .Help("do so under a NoGradScope");
  }
  if (result.dtype() != dtype() || result.shape() != shape()) {
    return Error(result.dtype() != dtype() ? ErrorCode::kInputType : ErrorCode::kOpShape)
        .Text("an assignment must keep the type and the shape of the variable")
        .Found(absl::StrCat(DTypeName(result.dtype()), " ", result.shape().ToString()))
        .Expected(absl::StrCat(DTypeName(dtype()), " ", shape().ToString()));
  }
  state_->value = result.state_->value;
  state_->version.fetch_add(1, std::memory_order_relaxed);
  if (!IsRecording()) return absl::OkStatus();
  const bool retains = retains_grad();
  const TapeEdge before = state_->history;
  if (retains) {
    MutexLock lock(&before.node->mu);
    HooksOfOutput(before).retains = CountedPtr<VarState>();
  }
  state_->history = result.state_->history;
  state_->is_leaf = !state_->history.is_set();
  return retains && requires_grad() ? RetainGrad() : absl::OkStatus();
}

absl::Status Var::AssignOp(absl::string_view op, const Var& other) {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  SLUICE_RETURN_IF_ERROR(CheckDefined(other));
  SLUICE_RETURN_IF_ERROR(CheckTape(*state_->core, other));
  const bool is_recorded = IsRecording() && (requires_grad() || other.requires_grad());
  const bool is_plain = !is_recorded && other.state_ != state_ && other.dtype() == dtype() && other.shape() == shape();
  if (!is_plain) return Assign(CallOp(op, {*this, other}));
  TapeCore& core = *state_->core;
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const EagerOp> called, core.ops().Find(op, {}, {dtype(), dtype()}));
  Entry slots[3];
  const Tensor kept = state_->value.IsUniquelyOwned() ? Tensor() : state_->value;
  slots[0].SetValue(std::move(state_->value));
  slots[1].SetValue(other.value());
  const absl::Status status = called->Run(core.run(), slots);
  state_->value = status.ok() ? std::move(slots[2].value()) : (kept.has_value() ? kept : slots[0].value());
  state_->version.fetch_add(1, std::memory_order_relaxed);
  return status;
}

absl::Status Var::AssignAdd(const Var& other) { return AssignOp("AddV2", other); }
absl::Status Var::AssignSub(const Var& other) { return AssignOp("Sub", other); }

}  // namespace sluice
