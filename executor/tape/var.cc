#include "executor/tape/var.h"

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/tape/record.h"
#include "executor/tape/tape_node.h"
#include "executor/tape/var_state.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {

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

// --- VarState --------------------------------------------------------------------------------------------------------

void VarState::DropContent() {
  LeftLeaf left;
  left.value = std::move(value);
  left.requires_grad = history.is_set();
  const TapeEdge dropped_history = std::move(history);
  const CountedPtr<TapeNode> dropped_frozen = std::move(frozen);
  {
    MutexLock lock(&mu);
    std::swap(grad, left.grad);
  }
  if (!is_leaf) return;
  TapeNode* const accumulator = left.requires_grad ? dropped_history.node.get() : dropped_frozen.get();
  if (accumulator == nullptr) return;
  const bool is_grad_held = left.grad.defined() && !left.grad.state()->has_one_handle();
  if (!is_grad_held && !accumulator->has_hooks.load(std::memory_order_relaxed)) return;
  // What a recorded pass has left may lead to the accumulator, which would keep itself.
  if (left.grad.requires_grad()) {
    left.held = CountedPtr<VarState>::Share(left.grad.state());
    left.grad = left.grad.Detach();
  }
  MutexLock lock(&accumulator->mu);
  std::unique_ptr<NodeHooks>& hooks = accumulator->hooks;
  if (!is_grad_held && (hooks == nullptr || hooks->accumulate.hooks().empty())) return;
  if (hooks == nullptr) hooks = std::make_unique<NodeHooks>();
  hooks->left = std::make_unique<LeftLeaf>(std::move(left));
  accumulator->has_hooks.store(true, std::memory_order_relaxed);
}

Var VarState::Revive(LeftLeaf left, CountedPtr<TapeNode> accumulator) {
  value = std::move(left.value);
  (left.requires_grad ? history.node : frozen) = std::move(accumulator);
  Var held = left.held ? left.held->Lock() : Var();
  {
    MutexLock lock(&mu);
    grad = held.defined() ? std::move(held) : std::move(left.grad);
  }
  Ref();
  handles_.store(1, std::memory_order_release);  // Publishes the content to Lock.
  return Var::Adopt(this);
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

absl::Status Var::CheckReadable() const { return CheckDefined(*this); }

bool Var::requires_grad() const { return state_ != nullptr && state_->requires_grad(); }
bool Var::is_leaf() const { return state_ == nullptr || state_->is_leaf; }
NodeRef Var::grad_fn() const { return is_leaf() ? NodeRef() : NodeRef(state_->history.node); }
NodeRef Var::accumulator() const { return requires_grad() && is_leaf() ? NodeRef(state_->history.node) : NodeRef(); }

uint32_t Var::version() const { return state_ != nullptr ? state_->version.load(std::memory_order_relaxed) : 0; }

absl::Status Var::SetRequiresGrad(bool requires_grad) {
  SLUICE_RETURN_IF_ERROR(CheckDefined(*this));
  if (!is_leaf()) {
    if (requires_grad) return absl::OkStatus();
    return Error(ErrorCode::kTapeNeedsNoGrad).Text("only leaves can be told to require no gradient: use Detach");
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
    return Error(ErrorCode::kInputType)
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
  if (grad.defined() && SameVar(grad, *this)) {
    return Error(ErrorCode::kWrongUse).Text("a variable cannot be its own gradient");
  }
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

}  // namespace sluice
