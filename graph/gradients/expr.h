#ifndef SLUICE_GRAPH_GRADIENTS_EXPR_H_
#define SLUICE_GRAPH_GRADIENTS_EXPR_H_

// Values as formulas, so that the row of an op reads like what it computes:
//
//   c.SetInput(0, c.dy() * Exp(c.Input(0)));
//
// Each operator adds one node, in the frame of the gradient that is being made. The first error stays in the emitter,
// where the sweep finds it; what is computed from a value that failed adds nothing.

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"
#include "graph/value/dtype.h"

namespace sluice {

class GradientEmitter;

// A value of the graph: one that the gradient has computed, or a forward one. A forward value of a loop is recalled
// from the gradient's iteration; that costs a stack, which is made when the value itself (not its shape, see ShapeOf)
// is first used. A value type; unset ones mean errors and inputs without a gradient.
class Expr {
 public:
  Expr() = default;
  Expr(GradientEmitter& emitter, Output output, bool is_forward = false)
      : emitter_(&emitter), output_(output), is_forward_(is_forward) {}

  bool is_set() const { return emitter_ != nullptr && output_.is_set(); }
  // Of the value, never a reference; kInvalid where it is unset.
  DType type() const;
  bool is_complex() const { return type() == DType::kComplex64 || type() == DType::kComplex128; }
  // Output `i` of the node that this is an output of.
  Expr out(int32_t i) const {
    Expr other = *this;
    other.output_.index = i;
    return other;
  }

  GradientEmitter* emitter() const { return emitter_; }
  const Output& output() const { return output_; }
  // Whether it is a node of the forward graph, perhaps in a loop.
  bool is_forward() const { return is_forward_; }

 private:
  GradientEmitter* emitter_ = nullptr;
  Output output_ = {NodeId(-1), 0};
  bool is_forward_ = false;
};

struct EmitAttr {
  absl::string_view name;
  AttrValue value;
};
using EmitAttrs = absl::InlinedVector<EmitAttr, 4>;
using Exprs = absl::InlinedVector<Expr, 6>;

// Adds a node of any op; type attrs that follow from the inputs (T, N, lists of types) need not be given. Returns
// output 0; others by out(i). REQUIRES: at least one input; else use GradientContext::Op.
Expr AddOp(absl::string_view op, const Exprs& inputs, const EmitAttrs& attrs = {});

// --- Constants of the type that goes with `like` -------------------------------------------------------------------
// A scalar of the type of `like`.
Expr Number(const Expr& like, double value);
// A scalar or a vector of integers.
Expr Int32(const Expr& like, int64_t value);
Expr Int64(const Expr& like, int64_t value);
Expr Int32s(const Expr& like, absl::Span<const int64_t> values);
Expr Int64s(const Expr& like, absl::Span<const int64_t> values);
// A scalar of any real or integer type.
Expr Scalar(const Expr& like, DType type, double value);
Expr Bool(const Expr& like, bool value);

// --- Arithmetic, with broadcasting ---------------------------------------------------------------------------------
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
inline Expr operator+(const Expr& a, double b) { return a + Number(a, b); }
inline Expr operator-(const Expr& a, double b) { return a - Number(a, b); }
inline Expr operator*(const Expr& a, double b) { return a * Number(a, b); }
inline Expr operator/(const Expr& a, double b) { return a / Number(a, b); }
inline Expr operator+(double a, const Expr& b) { return Number(b, a) + b; }
inline Expr operator-(double a, const Expr& b) { return Number(b, a) - b; }
inline Expr operator*(double a, const Expr& b) { return Number(b, a) * b; }
inline Expr operator/(double a, const Expr& b) { return Number(b, a) / b; }
Expr Pow(const Expr& a, const Expr& b);
Expr Maximum(const Expr& a, const Expr& b);
Expr Minimum(const Expr& a, const Expr& b);
Expr FloorDiv(const Expr& a, const Expr& b);
Expr FloorMod(const Expr& a, const Expr& b);
Expr DivNoNan(const Expr& a, const Expr& b);
Expr MulNoNan(const Expr& a, const Expr& b);
Expr Xlogy(const Expr& a, const Expr& b);
Expr Xdivy(const Expr& a, const Expr& b);
Expr AddN(const Exprs& terms);

// --- Element by element --------------------------------------------------------------------------------------------
Expr Abs(const Expr& x);
Expr Sign(const Expr& x);
Expr Exp(const Expr& x);
Expr Log(const Expr& x);
Expr Log1p(const Expr& x);
Expr Sqrt(const Expr& x);
Expr Rsqrt(const Expr& x);
Expr Square(const Expr& x);
Expr Reciprocal(const Expr& x);
Expr Sin(const Expr& x);
Expr Cos(const Expr& x);
Expr Sinh(const Expr& x);
Expr Cosh(const Expr& x);
Expr Sigmoid(const Expr& x);
Expr Floor(const Expr& x);
Expr Digamma(const Expr& x);
Expr Lgamma(const Expr& x);
// `x` itself where it is real.
Expr Conj(const Expr& x);
// Of a complex value, in the real type that goes with it.
Expr Real(const Expr& x);
Expr Imag(const Expr& x);
Expr Complex(const Expr& re, const Expr& im);
// `x` itself where it has the type.
Expr Cast(const Expr& x, DType type);

// --- Comparing, choosing -------------------------------------------------------------------------------------------
Expr Less(const Expr& a, const Expr& b);
Expr LessEqual(const Expr& a, const Expr& b);
Expr Greater(const Expr& a, const Expr& b);
Expr GreaterEqual(const Expr& a, const Expr& b);
Expr Equal(const Expr& a, const Expr& b);
Expr NotEqual(const Expr& a, const Expr& b);
Expr And(const Expr& a, const Expr& b);
Expr Or(const Expr& a, const Expr& b);
Expr Not(const Expr& a);
// Element by element, with broadcasting (SelectV2).
Expr Select(const Expr& condition, const Expr& then, const Expr& otherwise);

// --- Shapes --------------------------------------------------------------------------------------------------------
// The shape as a vector of int32 or int64. Of a forward value in a loop: only the shape is kept, or nothing where it is
// known before the run.
Expr ShapeOf(const Expr& x, DType type = DType::kInt32);
Expr RankOf(const Expr& x);
// The number of elements, a scalar.
Expr SizeOf(const Expr& x, DType type = DType::kInt32);
Expr ZerosLike(const Expr& x);
Expr Reshape(const Expr& x, const Expr& shape);
Expr ReshapeLike(const Expr& x, const Expr& like);
Expr Fill(const Expr& shape, const Expr& value);
Expr BroadcastTo(const Expr& x, const Expr& shape);
Expr ExpandDims(const Expr& x, const Expr& axis);
Expr ExpandDims(const Expr& x, int64_t axis);
Expr Squeeze(const Expr& x, absl::Span<const int64_t> axes = {});
Expr Transpose(const Expr& x, const Expr& permutation);
Expr Transpose(const Expr& x, absl::Span<const int64_t> permutation);
// Swaps the last two dimensions of a matrix or a batch of them, and conjugates: the adjoint.
Expr Adjoint(const Expr& x);
Expr SwapLastTwo(const Expr& x);
Expr InvertPermutation(const Expr& x);
Expr Tile(const Expr& x, const Expr& multiples);
Expr Range(const Expr& start, const Expr& limit, const Expr& delta);
Expr Pack(const Exprs& parts, int64_t axis = 0);
Expr Concat(const Exprs& parts, const Expr& axis);
Expr Concat(const Exprs& parts, int64_t axis);
Expr Slice(const Expr& x, const Expr& begin, const Expr& size);
// x[begin:end] along axis 0, with StridedSlice: for pieces of shapes.
Expr SliceRange(const Expr& x, int64_t begin, int64_t end);
// x[begin:] along axis 0.
Expr SliceFrom(const Expr& x, int64_t begin);
// x[i] along axis 0 (negative counts from the end), without that axis.
Expr Element(const Expr& x, int64_t i);
Expr Pad(const Expr& x, const Expr& paddings);
Expr Gather(const Expr& x, const Expr& indices, const Expr& axis);
Expr Gather(const Expr& x, const Expr& indices, int64_t axis = 0);
Expr GatherNd(const Expr& x, const Expr& indices);
Expr ScatterNd(const Expr& indices, const Expr& updates, const Expr& shape);
Expr UnsortedSegmentSum(const Expr& x, const Expr& ids, const Expr& count);

// --- Reductions and products ---------------------------------------------------------------------------------------
Expr Sum(const Expr& x, const Expr& axes, bool keep_dims = false);
Expr Sum(const Expr& x, absl::Span<const int64_t> axes, bool keep_dims = false);
// Of all elements, a scalar.
Expr SumAll(const Expr& x);
Expr Mean(const Expr& x, const Expr& axes, bool keep_dims = false);
Expr Prod(const Expr& x, const Expr& axes, bool keep_dims = false);
Expr MatMul(const Expr& a, const Expr& b, bool transpose_a = false, bool transpose_b = false);
// Of the last two dimensions, others broadcast (BatchMatMulV2).
Expr BatchMatMul(const Expr& a, const Expr& b, bool adjoint_a = false, bool adjoint_b = false);

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_EXPR_H_
