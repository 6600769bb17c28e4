#ifndef SLUICE_EXECUTOR_TAPE_VAR_H_
#define SLUICE_EXECUTOR_TAPE_VAR_H_

#include <cstddef>
#include <cstdint>
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

namespace sluice {

class TapeNode;
class Var;
class VarState;

// Hooks. Each is called on the thread that runs the backward pass, one at a time by each pass: one that several
// threads' passes go through may be called by all of them at once. They are called with recording on where the pass was
// begun with create_graph. An error ends the pass; so does an exception, which becomes a status.
//
// Sees the gradient of a variable; gives another in its place (of the same type and shape), or Var() to leave it.
using GradHook = absl::AnyInvocable<absl::StatusOr<Var>(const Var& grad)>;
// Sees the gradients of all outputs of a node before it runs, some undefined; gives as many others, or none at all.
using NodePreHook = absl::AnyInvocable<absl::StatusOr<std::vector<Var>>(absl::Span<const Var> grads)>;
// Sees what a node has computed for its inputs, and what it was given; gives others for the inputs, or none at all.
using NodePostHook = absl::AnyInvocable<absl::StatusOr<std::vector<Var>>(absl::Span<const Var> input_grads,
                                                                         absl::Span<const Var> output_grads)>;
// Called after the gradient of a leaf was added to, with the leaf; as in PyTorch also where nothing was added, since
// the leaf has been told to require no gradient. Where several threads' passes go through the leaf, it may read what
// TakeGrad gives it, and not grad(), which another pass may be adding to: no lock is held around it.
using AccumulateHook = absl::AnyInvocable<absl::Status(Var leaf)>;

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

  // These give the number by which the hook can be removed. kWrongUse where the node is undefined or the hook empty.
  absl::StatusOr<size_t> AddPreHook(NodePreHook hook);
  absl::StatusOr<size_t> AddPostHook(NodePostHook hook);
  // kWrongUse where there is no such hook.
  absl::Status RemovePreHook(size_t number);
  absl::Status RemovePostHook(size_t number);

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
// An op that fails gives a variable that holds the error; what is computed from that fails the same way. So formulas
// need no checks: status(), Backward and Grad tell in the end.
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

  bool requires_grad() const;
  // Nothing computed it that gradients flow through.
  bool is_leaf() const;
  // The node that made it; undefined for leaves.
  NodeRef grad_fn() const;
  // The node that adds to a leaf's gradient; undefined for all others.
  NodeRef accumulator() const;
  // kWrongUse for a computed variable, and for integers.
  absl::Status SetRequiresGrad(bool requires_grad);
  // The same value as a variable of its own, that no gradient flows through.
  Var Detach() const;

  // The gradient that passes have added up: of leaves, and where RetainGrad was called. Undefined where there is none.
  // Passes add to it in place: nobody may read its value while one of another thread can.
  Var grad() const;
  // The gradient, which is forgotten at once: what passes of other threads add from now on is a new one. So of what
  // they add nothing is lost, and nobody writes to what was taken.
  Var TakeGrad();
  // Undefined: forgets it.
  absl::Status SetGrad(const Var& grad);
  void ClearGrad() { (void)SetGrad(Var()); }
  // Has passes keep the gradient of a computed variable, too. Nothing to do for leaves, nor a second time.
  absl::Status RetainGrad();
  bool retains_grad() const;
  // These give the number by which the hook can be removed. kWrongUse where the hook is empty or the variable requires
  // no gradient; for the second, unless it is a leaf. A hook belongs to the value that the variable has now.
  absl::StatusOr<size_t> AddHook(GradHook hook);
  absl::StatusOr<size_t> AddAccumulateHook(AccumulateHook hook);
  absl::Status RemoveHook(size_t number);
  absl::Status RemoveAccumulateHook(size_t number);

  // In-place: the variable gets the value of `result`, and its history as that of a copy. Passes over values that were
  // saved before then fail, as their variable has changed. kWrongUse for a leaf that requires a gradient while ops are
  // recorded; kOpShape and kInputType where `result` has another shape or type.
  absl::Status Assign(const Var& result);
  absl::Status Assign(Var&& result);
  // The same with v + other and v - other, in the memory of v where nobody else has it.
  absl::Status AssignAdd(const Var& other);
  absl::Status AssignSub(const Var& other);
  // How often it was assigned.
  uint32_t version() const;

  // Tape::Backward of this one root.
  absl::Status Backward() const;

  VarState* state() const { return state_; }
  // Whether both are one variable.
  friend bool SameVar(const Var& a, const Var& b) { return a.state_ == b.state_; }

 private:
  // `result` is nobody else's, or has no history.
  absl::Status AssignValue(const Var& result);
  absl::Status AssignOp(absl::string_view op, const Var& other);

  VarState* state_ = nullptr;  // One handle of it.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_VAR_H_
