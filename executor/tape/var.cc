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

namespace {

// Whether the leaf of `accumulator`, which has no handle, can be reached again: see LeftLeaf.
bool IsSeen(const TapeNode& accumulator, bool is_grad_held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(accumulator.mu) {
  const bool has_hooks = accumulator.hooks != nullptr && !accumulator.hooks->accumulate.hooks().empty();
  return has_hooks || is_grad_held || accumulator.leaf->has_savers();
}

}  // namespace

void VarState::DropLastHandle() {
  // A leaf that has become a computed variable keeps `frozen`: passes ask whether it did (BackwardPass::Accumulate).
  const CountedPtr<TapeNode> its_accumulator = is_leaf ? accumulator() : frozen;
  Content ended;  // Freed without the lock: hooks and values of users may end with it.
  if (its_accumulator) {
    TapeNode& node = *its_accumulator;
    MutexLock lock(&node.mu);
    if (handles_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    ended = TakeContent();
    if (is_leaf) Leave(node, &ended);
  } else {
    if (handles_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    ended = TakeContent();
  }
  Unref();
}

VarState::Content VarState::TakeContent() {
  Content taken{std::move(value), std::move(history), std::move(frozen), Var()};
  MutexLock lock(&mu);
  std::swap(grad, taken.grad);
  return taken;
}

void VarState::Leave(TapeNode& accumulator, Content* content) {
  LeftLeaf& left = *accumulator.left;
  left.requires_grad = content->history.is_set();
  const Var& grad = content->grad;
  left.has_content = IsSeen(accumulator, grad.defined() && !grad.state()->has_one_handle());
  if (!left.has_content) return;
  left.value = std::move(content->value);
  if (grad.requires_grad()) {
    // Its history may lead to the accumulator, which would then keep itself alive.
    left.grad_held = CountedPtr<VarState>::Share(grad.state());
    left.grad_value = grad.value();
  } else {
    left.grad = std::move(content->grad);
  }
}

Var VarState::Revive(TapeNode& accumulator, LeftLeaf* ended) {
  LeftLeaf& left = *accumulator.left;
  // Do what can throw first.
  Var its_grad = left.grad_held ? left.grad_held->Lock() : Var();
  if (!its_grad.defined() && left.grad_value.has_value()) its_grad = VarOf(*core, {left.grad_value, TapeEdge()});
  *ended = std::exchange(left, LeftLeaf());
  if (!its_grad.defined()) its_grad = std::move(ended->grad);
  value = std::move(ended->value);
  (ended->requires_grad ? history.node : frozen) = CountedPtr<TapeNode>::Share(&accumulator);
  {
    MutexLock lock(&mu);
    grad = std::move(its_grad);
  }
  Ref();
  handles_.store(1, std::memory_order_release);  // Publishes the content to Lock.
  return Var::Adopt(this);
}

Var FindLeaf(TapeNode& accumulator) {
  Var leaf = accumulator.leaf->Lock();
  if (leaf.defined()) return leaf;
  LeftLeaf ended;
  MutexLock lock(&accumulator.mu);
  // Another thread may have been faster.
  leaf = accumulator.leaf->Lock();
  if (!leaf.defined() && accumulator.left->has_content) leaf = accumulator.leaf->Revive(accumulator, &ended);
  return leaf;
}

bool LeafRequiresGrad(TapeNode& accumulator) {
  const Var leaf = FindLeaf(accumulator);
  if (leaf.defined()) return leaf.requires_grad();
  MutexLock lock(&accumulator.mu);
  return accumulator.left->requires_grad;
}

LeftLeaf TakeUnseen(TapeNode& accumulator) {
  LeftLeaf unseen;
  if (accumulator.left == nullptr || !accumulator.left->has_content) return unseen;
  LeftLeaf& left = *accumulator.left;
  const bool is_grad_held =
      left.grad.defined() ? !left.grad.state()->has_one_handle() : left.grad_held && left.grad_held->has_handles();
  if (IsSeen(accumulator, is_grad_held)) return unseen;
  unseen = std::move(left);
  left.has_content = false;
  return unseen;
}

// --- Var -------------------------------------------------------------------------------------------------------------

Var::Var(const Var& other) : state_(other.state_) {
  if (state_ != nullptr) state_->AddHandle();
}

Var::~Var() {
  if (state_ != nullptr) state_->DropHandle();
}

Var Var::Failed(absl::Status status) {
  // Used when memory runs out. Never destroyed.
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
  const bool has_type = !grad.defined() || grad.dtype() == dtype();
  if (grad.defined() && (!has_type || grad.shape() != shape())) {
    return Error(has_type ? ErrorCode::kOpShape : ErrorCode::kInputType)
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
