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

// Hooks. Each is called on the thread that runs the backward pass, one at a time in each pass; passes of several
// threads may call one hook at once. Recording is on if the pass was begun with create_graph. An error or an exception,
// which becomes a status, ends the pass.
//
// Sees the gradient of a variable; returns another in its place (of the same type and shape), or Var() to leave it. As
// in PyTorch it is called with an undefined variable, and must return Var(), if a pass runs the node that made the
// variable without a gradient for it (for an unused part of a split, say). The record keeps its hooks, and a variable
// its record: a hook that holds the variable that it was added to, or one computed from that, keeps all of it alive for
// ever. Let such a hook hold a reference instead, or remove it.
using GradHook = absl::AnyInvocable<absl::StatusOr<Var>(const Var& grad)>;
// Sees the gradients of all outputs of a node before it runs, some undefined; returns as many others, or an empty
// vector.
using NodePreHook = absl::AnyInvocable<absl::StatusOr<std::vector<Var>>(absl::Span<const Var> grads)>;
// Sees the gradients that a node has computed, and those that it was given; returns others for the inputs, or an empty
// vector. As in PyTorch `output_grads` is empty if the node had no post hook when it began to run (a custom Backward or
// a hook of the leaf may add one).
using NodePostHook = absl::AnyInvocable<absl::StatusOr<std::vector<Var>>(absl::Span<const Var> input_grads,
                                                                         absl::Span<const Var> output_grads)>;
// Called with the leaf after a pass has added to its gradient. As in PyTorch it is also called if the pass came without
// a gradient, or the leaf no longer requires one: grad() may be undefined. If passes of several threads go through the
// leaf, read what TakeGrad returns, not grad(), which another pass may be adding to: no lock is held.
using AccumulateHook = absl::AnyInvocable<absl::Status(Var leaf)>;

// Names one added hook by its node, so that it removes that hook even if the variable is assigned to. Cheap to copy;
// copies are the same hook. Does not keep the node alive: the hook is freed with the record. Thread-safe as NodeRef is:
// no hook may be removed while a pass of another thread goes through its node.
//
//   SLUICE_ASSIGN_OR_RETURN(HookHandle clip, w.AddHook([](const Var& grad) { return Clip(grad, -1, 1); }));
//   ...
//   clip.Remove();
class HookHandle {
 public:
  HookHandle() = default;  // Names no hook.

  // Removes the hook. Does nothing if it was removed before, if its node has gone, or if the handle names no hook. A
  // pass that is calling hooks of the same list (of the variable, or of the kind) still calls it; the next one does
  // not.
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
// Thread-safe, except that hooks must not be added or removed while a pass goes through the node.
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
  // The nodes that the gradients of the inputs go to; undefined for inputs without one.
  std::vector<NodeRef> next() const;
  friend bool operator==(const NodeRef& a, const NodeRef& b) { return a.node_ == b.node_; }

  // Adds a hook after the present ones. kTapeUndefined if the node is undefined, kTapeHook if the hook is empty.
  absl::StatusOr<HookHandle> AddPreHook(NodePreHook hook);
  absl::StatusOr<HookHandle> AddPostHook(NodePostHook hook);

  const CountedPtr<TapeNode>& node() const { return node_; }

 private:
  CountedPtr<TapeNode> node_;
};

// A tensor and the record of how it was computed. A handle: copies are the same variable. Made by a Tape and by ops
// (ops.h); the tape must outlive it.
//
//   Var w = tape.Leaf(Tensor::Scalar(2.0f));
//   Var y = w * w + 1.0;
//   SLUICE_RETURN_IF_ERROR(y.Backward());   // w.grad() is 4
//
// Failures. Functions that return a Var report failures in it: a failed Var carries its Status, and everything computed
// from it fails the same way. So formulas need no checks: status(), Item, Backward, Grad and all others that return a
// Status or a StatusOr report it in the end. ErrorCodeOf (graph/base/error_code_of.h) tells the kinds apart.
// Thread-safety: like a pointer; a variable that no thread assigns to may be read by many, and passes of several
// threads may add to the gradient of one leaf.
class Var {
 public:
  Var() = default;  // Undefined.
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
  // The error that it carries, or OK. Undefined variables are OK.
  absl::Status status() const;
  // Without a value (kInvalid) if the variable is undefined or has failed.
  const Tensor& value() const;
  DType dtype() const { return value().dtype(); }
  const Shape& shape() const { return value().shape(); }
  // The only element, or all in row-major order, as numbers of type T, whatever the variable's own type: see
  // ElementAs and ElementsAs (graph/value/tensor_numbers.h). Errors: the one that the variable carries; kTapeUndefined.
  //   SLUICE_ASSIGN_OR_RETURN(const double last_loss, loss.Item<double>());
  template <typename T>
  absl::StatusOr<T> Item() const;
  template <typename T>
  absl::StatusOr<std::vector<T>> Elements() const;

  bool requires_grad() const;
  // True unless a recorded op computed it.
  bool is_leaf() const;
  // The node that made it; undefined for leaves.
  NodeRef grad_fn() const;
  // The node that adds to a leaf's gradient; undefined for all others.
  NodeRef accumulator() const;
  // kTapeNeedsNoGrad for `false` and a computed variable; kInputType for types without gradients.
  absl::Status SetRequiresGrad(bool requires_grad);
  // Returns a new variable with the same value, which no gradient flows through.
  Var Detach() const;

  // The gradient that passes have added up, for leaves and after RetainGrad; else undefined. Passes add to it in place:
  // do not read its value while a pass of another thread may run.
  Var grad() const;
  // Returns the gradient and clears it in one step: passes of other threads then add to a new one. So nothing that they
  // add is lost, and nothing writes to the returned one.
  Var TakeGrad();
  // An undefined `grad` clears it. kInputType or kOpShape if `grad` has not the variable's type or shape, kWrongUse if
  // it is the variable itself, kTapeForeign, kTapeUndefined, and the error that either carries.
  absl::Status SetGrad(const Var& grad);
  void ClearGrad() { (void)SetGrad(Var()); }
  // Makes passes keep the gradient of a computed variable too. Does nothing for leaves, or a second time.
  absl::Status RetainGrad();
  bool retains_grad() const;
  // Adds a hook after the present ones, for the value that the variable has now, not for later ones. kTapeHook if the
  // hook is empty, kTapeNeedsNoGrad if the variable requires no gradient, or, for an AccumulateHook, is not a leaf.
  absl::StatusOr<HookHandle> AddHook(GradHook hook);
  absl::StatusOr<HookHandle> AddAccumulateHook(AccumulateHook hook);

  // --- In place ------------------------------------------------------------------------------------------------------
  // These give the variable another value; variables that share its memory keep theirs. `other` is broadcast to the
  // shape of the variable, whose shape and type stay. While ops are recorded the assignment is one of them: the new
  // value depends on both, the variable requires a gradient if either does, and passes through ops that have saved the
  // value before fail (kTapeModified). On error the variable is as before.
  // Errors: kTapeLeafAssigned for a leaf that requires a gradient while ops are recorded, kOpShape or kInputType if
  // `other` does not fit, kTapeForeign, kTapeUndefined, the error that `other` carries, and errors of the op.
  //
  // Copies the value of `other`; the value before gets a gradient of zeros. `v.Assign(v * w)` fails the pass, since the
  // product needs the old v: use AssignMul.
  absl::Status Assign(const Var& other);
  absl::Status Assign(Var&& other);
  // v + other, v - other, v * other, v / other, in the memory of v if no other variable has it. They save what their
  // gradients need of the old v.
  absl::Status AssignAdd(const Var& other);
  absl::Status AssignSub(const Var& other);
  absl::Status AssignMul(const Var& other);
  absl::Status AssignDiv(const Var& other);
  absl::Status AssignAdd(double other);
  absl::Status AssignSub(double other);
  absl::Status AssignMul(double other);
  absl::Status AssignDiv(double other);
  // Sets all elements to a scalar variable, whose gradient is the sum of all.
  absl::Status Fill(const Var& number);
  absl::Status Fill(double number);
  absl::Status Zero() { return Fill(0.0); }
  // How often it was assigned to.
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
  // Sets value, which must have the right shape, and history.
  absl::Status Replace(const Tensor& value, TapeEdge history);
  static void ForgetRetained(const TapeEdge& edge);
  absl::Status AssignOp(CommonOp op, const Var& other);
  absl::Status AssignOpInPlace(CommonOp op, const Var& other);

  VarState* state_ = nullptr;  // Owns one handle of it.
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
