#ifndef SLUICE_GRAPH_GRADIENTS_GRADIENT_CONTEXT_H_
#define SLUICE_GRAPH_GRADIENTS_GRADIENT_CONTEXT_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/gradients/expr.h"
#include "graph/gradients/gradient.h"
#include "graph/ir/graph.h"
#include "graph/value/shape.h"

namespace sluice {

class ForwardFacts;
class GradientEmitter;

// Shows the row of an op one node, and takes the gradients of its inputs:
//
//   absl::Status Exp(GradientContext& c) {
//     c.SetInput(0, c.dy() * Conj(c.Output(0)));
//     return absl::OkStatus();
//   }
//
// A row is only called where an input is wanted and an output has a gradient. Inputs that are not set have no gradient
// (they count as "not connected"). A value that is set must depend on dy or on a forward value, so that it is dead when
// they are; ZerosLike of an input does. Gradients set for inputs that are not wanted are dropped, but their nodes stay:
// ask Wants() before work that only one input needs.
// Borrows all it is made of for one node. Not thread-safe.
class GradientContext {
 public:
  GradientContext(GradientEmitter& emitter, ForwardFacts& facts, NodeId node, absl::Span<const Gradient> dys,
                  absl::Span<Gradient> dxs);

  // --- The node ------------------------------------------------------------------------------------------------------
  const Graph& graph() const { return graph_; }
  NodeId node() const { return node_; }
  absl::string_view op() const { return graph_.op_name(node_); }
  int num_inputs() const { return static_cast<int>(graph_.inputs(node_).size()); }
  int num_outputs() const { return graph_.num_outputs(node_); }
  // Never reference types.
  DType input_type(int i) const { return BaseType(graph_.input_type(node_, i)); }
  DType output_type(int i) const { return BaseType(graph_.output_type(node_, i)); }

  // --- Values --------------------------------------------------------------------------------------------------------
  Expr Input(int i) const;
  Expr Output(int i = 0) const;
  // Inputs [begin, end).
  Exprs Inputs(int begin, int end) const;
  bool Wants(int i) const;
  // Whether any of inputs [begin, end) is wanted.
  bool WantsAny(int begin, int end) const;
  bool HasDy(int i = 0) const { return dys_[static_cast<size_t>(i)].is_set(); }
  // The gradient of output `i` as one tensor: rows are made dense, a missing one becomes zeros.
  Expr dy(int i = 0);
  // The gradient of output `i` as it came, for ops that hand it on unchanged.
  const Gradient& DyAsIs(int i = 0) const { return dys_[static_cast<size_t>(i)]; }

  // --- Results -------------------------------------------------------------------------------------------------------
  void SetInput(int i, const Expr& value);
  void SetInput(int i, const Gradient& gradient);
  void SetSlices(int i, const Expr& values, const Expr& indices, const Expr& dense_shape);
  // The gradient of input `i` is `value`, which has the shape that inputs `i` and `other` broadcast to: sums it down to
  // the shape of input `i` where shapes do not say that this is nothing to do.
  void SetBroadcastInput(int i, int other, const Expr& value);
  // The same as a value.
  Expr SumToInput(int i, int other, const Expr& value);
  // Sums `value`, of the shape that `a` and `b` broadcast to, down to the shape of `a`. Returns `value` itself for
  // forward values known to have one shape.
  Expr SumToShapeOf(const Expr& a, const Expr& b, const Expr& value);

  // --- Adding nodes --------------------------------------------------------------------------------------------------
  // As AddOp; also for ops without inputs.
  Expr Op(absl::string_view op, const Exprs& inputs, const EmitAttrs& attrs = {});
  Expr Const(const Tensor& value);
  Expr Int32(int64_t value) const;
  Expr Int64(int64_t value) const;
  Expr Int32s(absl::Span<const int64_t> values) const;
  Expr Int64s(absl::Span<const int64_t> values) const;

  // --- Attrs: the node's, else the op's default. Where one is missing or of another kind the error, which names node
  // and attr, stays in the emitter, and a value of no meaning comes back -------------------------------------------
  int64_t Int(absl::string_view name) const;
  bool Bool(absl::string_view name) const;
  float Float(absl::string_view name) const;
  absl::string_view String(absl::string_view name) const;
  DType Type(absl::string_view name) const;
  std::vector<int64_t> Ints(absl::string_view name) const;
  bool HasAttr(absl::string_view name) const { return graph_.HasAttr(node_, name); }
  // Attrs of the node as attrs of a node to add; those it does not have are left out.
  EmitAttrs CopyAttrs(std::initializer_list<absl::string_view> names) const;

  // --- Facts known before the run. Each question is recorded: gradients of a graph in which all answers are the same
  // are the same -----------------------------------------------------------------------------------------------------
  // The rank or dimensions may be unknown; dimensions are never ids of sizes.
  PartialShape InputShape(int i) const;
  PartialShape OutputShape(int i) const;
  int InputRank(int i) const { return InputShape(i).rank(); }  // -1 where unknown.
  // Whether both inputs have the same shape in every run.
  bool HaveSameShape(int i, int j) const;
  // The elements of input `i`, a small constant scalar or vector of int32 or int64.
  std::optional<std::vector<int64_t>> ConstInts(int i) const;

  // --- Errors --------------------------------------------------------------------------------------------------------
  // Returns UNIMPLEMENTED, naming the node: this gradient cannot be made, perhaps as in TensorFlow.
  absl::Status Refuse(absl::string_view why) const;
  GradientEmitter& emitter() const { return emitter_; }
  ForwardFacts& facts() const { return facts_; }

 private:
  const Graph& graph_;
  GradientEmitter& emitter_;
  ForwardFacts& facts_;
  const NodeId node_;
  const absl::Span<const Gradient> dys_;
  const absl::Span<Gradient> dxs_;
  // The axes that SumToShapeOf sums over, which two inputs share: of the last two operands.
  struct BroadcastAxes {
    sluice::Output a = kNoOutput, b = kNoOutput;
    Expr of_a, of_b;
  };
  BroadcastAxes axes_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_GRADIENT_CONTEXT_H_
