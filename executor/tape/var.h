#ifndef SLUICE_EXECUTOR_TAPE_VAR_H_
#define SLUICE_EXECUTOR_TAPE_VAR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/value/counted.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"
#include "graph/value/tensor_numbers.h"

namespace sluice {

enum class CommonOp : uint8_t;
class HookHome;
class TapeNode;
class Var;
class VarState;
struct TapeEdge;

// Hooks. Each is called on the thread that runs the backward pass, one at a time by each pass: one that several
// threads' passes go through may be called by all of them at once. They are called with recording on where the pass was
// begun with create_graph. An error ends the pass; so does an exception, which becomes a status.
//
// Sees the gradient of a variable; returns another in its place (of the same type and shape), or Var() to leave it. As
// in PyTorch it is also called, with an undefined variable, where a pass comes to the node that made the variable
// without a gradient for it: of the parts of a split, say, of which only one was used. Then it must return Var().
// The record keeps its hooks, and a variable its record: a hook that keeps the variable that it was added to, or one
// computed from that, keeps all of it for ever. Have such a hook refer to the variable, or remove it.
using GradHook = absl::AnyInvocable<absl::StatusOr<Var>(const Var& grad)>;
// Sees the gradients of all outputs of a node before it runs, some undefined; returns as many others, or none at all.
using NodePreHook = absl::AnyInvocable<absl::StatusOr<std::vector<Var>>(absl::Span<const Var> grads)>;
// Sees what a node has computed for its inputs, and from what; returns others for the inputs, or none at all. As in
// PyTorch `output_grads` is empty where the node had no post hook when it began to run: a custom Backward, a hook of
// the leaf may add one.
using NodePostHook = absl::AnyInvocable<absl::StatusOr<std::vector<Var>>(absl::Span<const Var> input_grads,
                                                                         absl::Span<const Var> output_grads)>;
// Called after the gradient of a leaf was added to, with the leaf; as in PyTorch also where nothing was added, since
// a pass came to the leaf without a gradient, or the leaf has been told to require none: grad() may be undefined. Where
// several threads' passes go through the leaf, it may read what TakeGrad gives it, and not grad(), which another pass
// may be adding to: no lock is held around it.
using AccumulateHook = absl::AnyInvocable<absl::Status(Var leaf)>;

// A hook that was added: knows its node, so that it removes this hook and no other whatever becomes of the variable.
// Cheap to copy; copies are the same hook. Does not keep the node: the hook goes with the record that it belongs to.
// Thread-safe as NodeRef is: no hook may be removed while a pass of another thread goes through its node.
//
//   SLUICE_ASSIGN_OR_RETURN(HookHandle clip, w.AddHook([](const Var& grad) { return Clip(grad, -1, 1); }));
//   ...
//   clip.Remove();
class HookHandle {
 public:
  HookHandle() = default;  // Of no hook.

  // Removes the hook. Does nothing where it was removed before, where its node has gone, and for a handle of no hook.
  // A pass that is calling hooks of the same list (of the variable, or of the kind) calls those that it found there all
  // the same: the next pass does without.
  void Remove();
  // Whether passes through its node call the hook.
  bool is_added() const;

 private:
  friend class HookHome;
  enum class Kind : uint8_t { kGrad, kPre, kPost, kAccumulate };
  HookHandle(std::weak_ptr<HookHome> home, Kind kind, uint32_t slot, size_t number)
      : home_(std::move(home)), kind_(kind), slot_(slot), number_(number) {}

  std::weak_ptr<HookHome> home_;
  Kind kind_ = Kind::kGrad;
  uint32_t slot_ = 0;  // Of kGrad: the output.
  size_t number_ = 0;
};

// The node of the record that made a variable (grad_fn), or that adds to the gradient of a leaf. Cheap to copy.
// Thread-safe, but for hooks, which nobody may add or remove while a pass goes through the node.
class NodeRef {
 public:
  NodeRef();
  explicit NodeRef(CountedPtr<TapeNode> node);
  NodeRef(const NodeRef& other);
  NodeRef(NodeRef&& other) noexcept;
  NodeRef& operator=(NodeRef other) noexcept;
  ~NodeRef();

  bool defined() const { return static_cast<bool>(node_); }
  // "MulBackward", "AccumulateGrad", ...; empty where it is undefined.
  std::string name() const;
  uint64_t sequence() const;
  // Where the gradients of the inputs go; undefined for inputs without one.
  std::vector<NodeRef> next() const;
  friend bool operator==(const NodeRef& a, const NodeRef& b) { return a.node_ == b.node_; }

  // Adds a hook behind those that are there. kTapeUndefined where the node is undefined, kTapeHook where the hook is
  // empty.
  absl::StatusOr<HookHandle> AddPreHook(NodePreHook hook);
  absl::StatusOr<HookHandle> AddPostHook(NodePostHook hook);

  const CountedPtr<TapeNode>& node() const { return node_; }

 private:
  CountedPtr<TapeNode> node_;
};

// A value that ops are recorded on: a tensor, and how it came about. A handle: copies are the same variable. Made by a
// Tape and by ops (ops.h); the tape must outlive it.
//
//   Var w = tape.Leaf(Tensor::Scalar(2.0f));
//   Var y = w * w + 1.0;
//   SLUICE_RETURN_IF_ERROR(y.Backward());   // w.grad() is 4
//
// Failures. What returns a Var never fails in another form: a Var that has failed carries its Status, and what is
// computed from it fails the same way. So formulas need no checks: status(), Item, Backward, Grad and all others that
// return a Status or a StatusOr tell in the end. ErrorCodeOf (graph/base/error_code_of.h) tells the kinds apart.
// Thread-safety: like a pointer; a variable that no thread assigns to may be read by many, and passes of several
// threads may add to the gradient of one leaf.
class Var {
 public:
  Var() = default;  // Undefined: no variable at all.
  Var(const Var& other);
  Var(Var&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Var& operator=(Var other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Var();
  // Takes over one handle of `state`, which may be null.
  static Var Adopt(VarState* state) {
    Var var;
    var.state_ = state;
    return var;
  }
  static Var Failed(absl::Status status);

  bool defined() const { return state_ != nullptr; }
  // OK, or what has failed. Undefined variables are OK.
  absl::Status status() const;
  // Without a value (kInvalid) where the variable is undefined or has failed.
  const Tensor& value() const;
  DType dtype() const { return value().dtype(); }
  const Shape& shape() const { return value().shape(); }
  // The only element, or all in row-major order, as numbers of type T, whatever the variable's own type: see
  // ElementAs and ElementsAs (graph/value/tensor_numbers.h). What the variable has failed with; kTapeUndefined.
  //   SLUICE_ASSIGN_OR_RETURN(const double last_loss, loss.Item<double>());
  template <typename T>
  absl::StatusOr<T> Item() const;
  template <typename T>
  absl::StatusOr<std::vector<T>> Elements() const;

  bool requires_grad() const;
  // Nothing computed it that gradients flow through.
  bool is_leaf() const;
  // The node that made it; undefined for leaves.
  NodeRef grad_fn() const;
  // The node that adds to a leaf's gradient; undefined for all others.
  NodeRef accumulator() const;
  // kTapeNeedsNoGrad for a computed variable that is to require none; kInputType for types without gradients.
  absl::Status SetRequiresGrad(bool requires_grad);
  // The same value as a variable of its own, that no gradient flows through.
  Var Detach() const;

  // The gradient that passes have added up: of leaves, and where RetainGrad was called. Undefined where there is none.
  // Passes add to it in place: nobody may read its value while one of another thread can.
  Var grad() const;
  // The gradient, which is forgotten at once: what passes of other threads add from now on is a new one. So of what
  // they add nothing is lost, and nobody writes to what was taken.
  Var TakeGrad();
  // Undefined: forgets it. kInputType and kOpShape where `grad` has not the variable's type and shape, kWrongUse where
  // it is the variable itself, kTapeForeign, kTapeUndefined, what either has failed with.
  absl::Status SetGrad(const Var& grad);
  void ClearGrad() { (void)SetGrad(Var()); }
  // Has passes keep the gradient of a computed variable, too. Nothing to do for leaves, nor a second time.
  absl::Status RetainGrad();
  bool retains_grad() const;
  // Adds a hook behind those that are there: to the value that the variable has now, not to what is assigned later.
  // kTapeHook where the hook is empty, kTapeNeedsNoGrad where the variable requires no gradient; the second kind also
  // unless it is a leaf.
  absl::StatusOr<HookHandle> AddHook(GradHook hook);
  absl::StatusOr<HookHandle> AddAccumulateHook(AccumulateHook hook);

  // --- In place ------------------------------------------------------------------------------------------------------
  // These give the variable another value, whatever other variables share its memory. `other` is broadcast to the shape
  // of the variable, which stays, as does its type. While ops are recorded the assignment is one of them: the new value
  // depends on both, the variable requires a gradient if either does, and passes through ops that have saved the value
  // before fail (kTapeModified). The variable is as before where they fail.
  // Errors: kTapeLeafAssigned for a leaf that requires a gradient while ops are recorded, kOpShape and kInputType where
  // `other` does not fit, kTapeForeign, kTapeUndefined, what `other` has failed with, and errors of the op.
  //
  // Takes over the value of `other`. What the variable was before gets a gradient of zeros. `v.Assign(v * w)` fails the
  // pass, since the product needs the v that is gone: that is what AssignMul is for.
  absl::Status Assign(const Var& other);
  absl::Status Assign(Var&& other);
  // v + other, v - other, v * other, v / other, in the memory of v where nobody else has it. What they need of the old
  // v they keep themselves.
  absl::Status AssignAdd(const Var& other);
  absl::Status AssignSub(const Var& other);
  absl::Status AssignMul(const Var& other);
  absl::Status AssignDiv(const Var& other);
  absl::Status AssignAdd(double other);
  absl::Status AssignSub(double other);
  absl::Status AssignMul(double other);
  absl::Status AssignDiv(double other);
  // One number everywhere: of a variable without axes, whose gradient is the sum of all.
  absl::Status Fill(const Var& number);
  absl::Status Fill(double number);
  absl::Status Zero() { return Fill(0.0); }
  // How often it was assigned.
  uint32_t version() const;

  // Tape::Backward of this one root.
  absl::Status Backward() const;

  VarState* state() const { return state_; }
  // Whether both are one variable.
  friend bool SameVar(const Var& a, const Var& b) { return a.state_ == b.state_; }

 private:
  absl::Status CheckReadable() const;
  // Whether `other` may be assigned to this variable.
  absl::Status CheckAssigned(const Var& other) const;
  // `value`, of the right shape, takes the place of the variable's, and `history` of its history.
  absl::Status Replace(const Tensor& value, TapeEdge history);
  static void ForgetRetained(const TapeEdge& edge);
  absl::Status AssignOp(CommonOp op, const Var& other);
  absl::Status AssignOpInPlace(CommonOp op, const Var& other);

  VarState* state_ = nullptr;  // One handle of it.
};

template <typename T>
absl::StatusOr<T> Var::Item() const {
  const absl::Status status = CheckReadable();
  return status.ok() ? ElementAs<T>(value()) : absl::StatusOr<T>(status);
}

template <typename T>
absl::StatusOr<std::vector<T>> Var::Elements() const {
  const absl::Status status = CheckReadable();
  return status.ok() ? ElementsAs<T>(value()) : absl::StatusOr<std::vector<T>>(status);
}

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_VAR_H_
