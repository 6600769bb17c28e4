#ifndef SLUICE_GRAPH_GRADIENTS_GRADIENT_EMITTER_H_
#define SLUICE_GRAPH_GRADIENTS_GRADIENT_EMITTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "graph/base/limits.h"
#include "graph/base/stop_poll.h"
#include "graph/gradients/conditions.h"
#include "graph/gradients/expr.h"
#include "graph/gradients/forward_facts.h"
#include "graph/gradients/gradient.h"
#include "graph/ir/graph.h"

namespace sluice {

// Gives nodes of a loop's gradient access to values outside of it. Gradients outside of loops have no frame.
class GradientFrame {
 public:
  virtual ~GradientFrame() = default;
  // Returns the value of `forward`, which is in the loop, for the gradient's current iteration. Unset after an error,
  // which is then in the emitter.
  virtual Output Recall(const Output& forward) = 0;
  // Brings a value from outside of all loops into each iteration of the gradient.
  virtual Output BringIn(const Output& outside) = 0;
  // Returns the value, dead in the iterations in which the forward value is.
  virtual Expr Beside(const Output& forward, const Expr& value) = 0;
  // Whether recalling the value needs no new stack.
  virtual bool IsAtHand(const Output& forward) const = 0;
  // The forward value that `here` was recalled from; unset for others.
  virtual Output ForwardOf(const Output& here) const = 0;
};

// Limits of adding nodes.
struct EmitLimits {
  int64_t max_nodes = LoadLimits().max_nodes;  // Of the whole graph.
  StopPoll* stop = nullptr;                    // Polled for each node; null: never stops.
};

// Adds the nodes of a gradient: names them, gives them the forward node's device, finds their type attrs, and shares
// small constants. The first error stays; after it nothing is added.
// Borrows all it is made of. Not thread-safe.
class GradientEmitter {
 public:
  // `prefix` begins all names, without the "/".
  GradientEmitter(Graph& graph, ForwardFacts& facts, std::string prefix, bool colocate, EmitLimits limits = {});
  GradientEmitter(const GradientEmitter&) = delete;
  GradientEmitter& operator=(const GradientEmitter&) = delete;

  const Graph& graph() const { return graph_; }
  Graph& mutable_graph() { return graph_; }
  ForwardFacts& facts() { return facts_; }
  const std::string& prefix() const { return prefix_; }

  // --- Where nodes stand: what follows is the gradient of `id`, or belongs to no node
  // ---------------------------------
  void BeginNode(NodeId id);
  void BeginScope(absl::string_view name);
  // Names and place, saved to return to them.
  struct SavedScope {
    std::string name, device;
    AttrValue of_class;
    size_t scope_size = 0;
    int64_t num_in_scope = 0;
  };
  SavedScope SaveScope() const { return {name_, device_, class_, scope_size_, num_in_scope_}; }
  void RestoreScope(SavedScope scope);
  // Null: in no loop.
  void SetFrame(GradientFrame* frame) { frame_ = frame; }
  GradientFrame* frame() const { return frame_; }

  // --- Nodes ---------------------------------------------------------------------------------------------------------
  // In the frame of the gradient.
  Expr Op(absl::string_view op, const Exprs& inputs, const EmitAttrs& attrs = {});
  // Adds a node with these edges, whatever the frame. Returns an invalid id after an error. With `open_inputs` an unset
  // input stays open; else it means an earlier error.
  NodeId AddNode(absl::string_view op, absl::Span<const Output> inputs, const EmitAttrs& attrs = {},
                 absl::Span<const NodeId> controls = {}, bool open_inputs = false);
  // The same; returns output 0.
  Output Add(absl::string_view op, absl::Span<const Output> inputs, const EmitAttrs& attrs = {},
             absl::Span<const NodeId> controls = {}) {
    return {AddNode(op, inputs, attrs, controls), 0};
  }
  // The value as an edge of the frame of the gradient.
  Output Here(const Expr& value);
  // A value of the frame of the gradient.
  Expr Value(const Output& output) { return Expr(*this, output); }
  Expr Forward(const Output& output) { return Expr(*this, output, /*is_forward=*/true); }

  // --- Constants -----------------------------------------------------------------------------------------------------
  Expr Constant(const Tensor& value);
  Expr Scalar(DType type, double value);
  // Int32 or int64; a scalar where `is_scalar`.
  Expr Integers(DType type, absl::Span<const int64_t> values, bool is_scalar);
  // The same outside of all loops.
  Output ConstantOutside(const Tensor& value);
  Output ConstantOutsideFrom(AttrValue value, DType type);

  // --- Gradients -----------------------------------------------------------------------------------------------------
  // The shape of a value. Of a forward value in a loop: a constant, or the shape alone is kept for each iteration.
  Expr ShapeOf(const Expr& value, DType type = DType::kInt32);
  // Returns the gradient of `forward` as one tensor. REQUIRES: it is set.
  Expr Dense(const Gradient& gradient, const Expr& forward);
  // Zeros of the shape of a value, dead when a forward value is. For a handle: of the shape and type of its variable
  // (looked up if not given). Made once for each value and frame.
  Expr Zeros(const Expr& value, DType of_variable = DType::kInvalid);

  // --- Gates ---------------------------------------------------------------------------------------------------------
  // Hands `value` to the output that `predicate` chooses: a Switch where that is a bool, a _SwitchN of `num_ports`
  // outputs where it is an index. AddGate takes edges as they are.
  NodeId AddGate(const Output& value, const Output& predicate, int32_t num_ports = 2);
  Expr Gate(const Expr& value, const Expr& predicate, int32_t num_ports = 2) {
    return Value({AddGate(Here(value), Here(predicate), num_ports), 0});
  }
  // Returns `zeros`, dead in the runs (or iterations) in which all of `conditions` hold. Conditions that others depend
  // on come first; each prefix costs nodes once, so that many gradients under many conditions take linear space.
  // REQUIRES: `conditions` is not empty.
  Expr ZerosUnless(const Expr& zeros, const Conditions::List& conditions);

  // Null if the graph has no conditionals.
  Conditions* conditions() const { return conditions_; }
  void SetConditions(Conditions* conditions) { conditions_ = conditions; }

  // --- Errors --------------------------------------------------------------------------------------------------------
  const absl::Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  // Keeps the first.
  void Fail(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }

 private:
  // How the type attrs of an op follow from its inputs.
  struct OpPlan {
    const OpSchema* schema = nullptr;
    bool is_simple = false;                                     // No lists: argument i is input i.
    std::vector<std::pair<int32_t, const std::string*>> types;  // Input, and the attr that is its type.
  };

  // Zeros that are live if some conditions hold, and their split by one more condition.
  struct ConditionalZeros {
    Output where_holds, elsewhere;  // Elsewhere: if any condition does not hold.
  };

  const OpPlan* PlanOf(absl::string_view op);
  void InferSimple(const OpPlan& plan, absl::Span<const Output> inputs, const EmitAttrs& attrs);
  void InferLists(const OpPlan& plan, absl::Span<const Output> inputs, const EmitAttrs& attrs);
  void NameNext(absl::string_view op);
  // Whether one more node may be added; else keeps the error.
  bool MayAdd();
  Expr MakeZeros(const Expr& value, DType of_variable);

  Graph& graph_;
  ForwardFacts& facts_;
  const std::string prefix_;
  const bool colocate_;
  const EmitLimits limits_;
  Conditions* conditions_ = nullptr;
  GradientFrame* frame_ = nullptr;
  std::string device_;
  AttrValue class_;   // Attr _class of nodes to add; empty: none.
  std::string name_;  // Of the next node; its first scope_size_ bytes are the scope.
  size_t scope_size_ = 0;
  int64_t num_in_scope_ = 0;
  NodeSpec spec_;  // Kept for its memory.
  HashMap<std::string, OpPlan> plans_;
  HashMap<std::string, Output> constants_;            // By their encoded value.
  HashMap<std::string, int64_t> scopes_;              // Nodes in scopes that belong to no node.
  HashMap<std::pair<Output, DType>, Output> shapes_;  // Of values of loops, in the forward graph.
  HashMap<std::pair<Output, GradientFrame*>, Output> zeros_;
  HashMap<std::pair<Output, Conditions::Condition>, ConditionalZeros> conditional_zeros_;
  absl::Status status_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_GRADIENT_EMITTER_H_
