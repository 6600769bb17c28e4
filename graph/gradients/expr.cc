#include "graph/gradients/expr.h"

#include <utility>

#include "graph/gradients/gradient_emitter.h"

namespace sluice {
namespace {

// Returns the emitter of the first operand that has one; null after an error.
GradientEmitter* EmitterOf(const Exprs& inputs) {
  for (const Expr& input : inputs) {
    if (input.emitter() != nullptr) return input.emitter();
  }
  return nullptr;
}

Expr Integers(const Expr& like, DType type, absl::Span<const int64_t> values, bool is_scalar) {
  return like.emitter() == nullptr ? Expr() : like.emitter()->Integers(type, values, is_scalar);
}

DType RealTypeOf(DType type) {
  if (type == DType::kComplex64) return DType::kFloat;
  return type == DType::kComplex128 ? DType::kDouble : type;
}

}  // namespace

DType Expr::type() const {
  if (!is_set()) return DType::kInvalid;
  return BaseType(emitter_->graph().output_type(output_.node, output_.index));
}

Expr AddOp(absl::string_view op, const Exprs& inputs, const EmitAttrs& attrs) {
  GradientEmitter* const emitter = EmitterOf(inputs);
  return emitter == nullptr ? Expr() : emitter->Op(op, inputs, attrs);
}

// --- Constants -----------------------------------------------------------------------------------------------------

Expr Number(const Expr& like, double value) { return Scalar(like, like.type(), value); }
Expr Int32(const Expr& like, int64_t value) { return Integers(like, DType::kInt32, {value}, true); }
Expr Int64(const Expr& like, int64_t value) { return Integers(like, DType::kInt64, {value}, true); }
Expr Int32s(const Expr& like, absl::Span<const int64_t> values) { return Integers(like, DType::kInt32, values, false); }
Expr Int64s(const Expr& like, absl::Span<const int64_t> values) { return Integers(like, DType::kInt64, values, false); }
Expr Scalar(const Expr& like, DType type, double value) {
  // An unset value means an earlier error, which is kept.
  return like.is_set() ? like.emitter()->Scalar(type, value) : Expr();
}
Expr Bool(const Expr& like, bool value) { return Scalar(like, DType::kBool, value ? 1 : 0); }

// --- Arithmetic ----------------------------------------------------------------------------------------------------

Expr operator+(const Expr& a, const Expr& b) { return AddOp("AddV2", {a, b}); }
Expr operator-(const Expr& a, const Expr& b) { return AddOp("Sub", {a, b}); }
Expr operator*(const Expr& a, const Expr& b) { return AddOp("Mul", {a, b}); }
Expr operator/(const Expr& a, const Expr& b) { return AddOp("RealDiv", {a, b}); }
Expr Pow(const Expr& a, const Expr& b) { return AddOp("Pow", {a, b}); }
Expr Maximum(const Expr& a, const Expr& b) { return AddOp("Maximum", {a, b}); }
Expr Minimum(const Expr& a, const Expr& b) { return AddOp("Minimum", {a, b}); }
Expr FloorDiv(const Expr& a, const Expr& b) { return AddOp("FloorDiv", {a, b}); }
Expr FloorMod(const Expr& a, const Expr& b) { return AddOp("FloorMod", {a, b}); }
Expr DivNoNan(const Expr& a, const Expr& b) { return AddOp("DivNoNan", {a, b}); }
Expr MulNoNan(const Expr& a, const Expr& b) { return AddOp("MulNoNan", {a, b}); }
Expr Xlogy(const Expr& a, const Expr& b) { return AddOp("Xlogy", {a, b}); }
Expr Xdivy(const Expr& a, const Expr& b) { return AddOp("Xdivy", {a, b}); }
Expr Less(const Expr& a, const Expr& b) { return AddOp("Less", {a, b}); }
Expr LessEqual(const Expr& a, const Expr& b) { return AddOp("LessEqual", {a, b}); }
Expr Greater(const Expr& a, const Expr& b) { return AddOp("Greater", {a, b}); }
Expr GreaterEqual(const Expr& a, const Expr& b) { return AddOp("GreaterEqual", {a, b}); }
Expr Equal(const Expr& a, const Expr& b) { return AddOp("Equal", {a, b}); }
Expr NotEqual(const Expr& a, const Expr& b) { return AddOp("NotEqual", {a, b}); }
Expr And(const Expr& a, const Expr& b) { return AddOp("LogicalAnd", {a, b}); }
Expr Or(const Expr& a, const Expr& b) { return AddOp("LogicalOr", {a, b}); }
Expr operator-(const Expr& a) { return AddOp("Neg", {a}); }
Expr AddN(const Exprs& terms) { return terms.size() == 1 ? terms[0] : AddOp("AddN", terms); }
Expr Not(const Expr& a) { return AddOp("LogicalNot", {a}); }
Expr Select(const Expr& condition, const Expr& then, const Expr& otherwise) {
  return AddOp("SelectV2", {condition, then, otherwise});
}

// --- Element by element --------------------------------------------------------------------------------------------

Expr Abs(const Expr& x) { return AddOp("Abs", {x}); }
Expr Sign(const Expr& x) { return AddOp("Sign", {x}); }
Expr Exp(const Expr& x) { return AddOp("Exp", {x}); }
Expr Log(const Expr& x) { return AddOp("Log", {x}); }
Expr Log1p(const Expr& x) { return AddOp("Log1p", {x}); }
Expr Sqrt(const Expr& x) { return AddOp("Sqrt", {x}); }
Expr Rsqrt(const Expr& x) { return AddOp("Rsqrt", {x}); }
Expr Square(const Expr& x) { return AddOp("Square", {x}); }
Expr Reciprocal(const Expr& x) { return AddOp("Reciprocal", {x}); }
Expr Sin(const Expr& x) { return AddOp("Sin", {x}); }
Expr Cos(const Expr& x) { return AddOp("Cos", {x}); }
Expr Sinh(const Expr& x) { return AddOp("Sinh", {x}); }
Expr Cosh(const Expr& x) { return AddOp("Cosh", {x}); }
Expr Sigmoid(const Expr& x) { return AddOp("Sigmoid", {x}); }
Expr Floor(const Expr& x) { return AddOp("Floor", {x}); }
Expr Digamma(const Expr& x) { return AddOp("Digamma", {x}); }
Expr Lgamma(const Expr& x) { return AddOp("Lgamma", {x}); }
Expr Conj(const Expr& x) { return x.is_complex() ? AddOp("Conj", {x}) : x; }
Expr Real(const Expr& x) { return AddOp("Real", {x}, {{"Tout", AttrValue(RealTypeOf(x.type()))}}); }
Expr Imag(const Expr& x) { return AddOp("Imag", {x}, {{"Tout", AttrValue(RealTypeOf(x.type()))}}); }
Expr Complex(const Expr& re, const Expr& im) {
  const DType type = re.type() == DType::kDouble ? DType::kComplex128 : DType::kComplex64;
  return AddOp("Complex", {re, im}, {{"Tout", AttrValue(type)}});
}
Expr Cast(const Expr& x, DType type) { return x.type() == type ? x : AddOp("Cast", {x}, {{"DstT", AttrValue(type)}}); }

// --- Shapes --------------------------------------------------------------------------------------------------------

Expr ShapeOf(const Expr& x, DType type) { return x.is_set() ? x.emitter()->ShapeOf(x, type) : Expr(); }
Expr RankOf(const Expr& x) { return SizeOf(ShapeOf(x)); }
Expr SizeOf(const Expr& x, DType type) {
  if (!x.is_forward()) return AddOp("Size", {x}, {{"out_type", AttrValue(type)}});
  return Prod(ShapeOf(x, type), Int32s(x, {0}));
}
Expr ZerosLike(const Expr& x) { return x.is_set() ? x.emitter()->Zeros(x) : Expr(); }
Expr Reshape(const Expr& x, const Expr& shape) { return AddOp("Reshape", {x, shape}); }
Expr ReshapeLike(const Expr& x, const Expr& like) { return Reshape(x, ShapeOf(like)); }
Expr Fill(const Expr& shape, const Expr& value) { return AddOp("Fill", {shape, value}); }
Expr BroadcastTo(const Expr& x, const Expr& shape) { return AddOp("BroadcastTo", {x, shape}); }
Expr ExpandDims(const Expr& x, const Expr& axis) { return AddOp("ExpandDims", {x, axis}); }
Expr ExpandDims(const Expr& x, int64_t axis) { return ExpandDims(x, Int32(x, axis)); }
Expr Squeeze(const Expr& x, absl::Span<const int64_t> axes) {
  return AddOp("Squeeze", {x}, {{"squeeze_dims", AttrValue(axes)}});
}
Expr Transpose(const Expr& x, const Expr& permutation) { return AddOp("Transpose", {x, permutation}); }
Expr Transpose(const Expr& x, absl::Span<const int64_t> permutation) { return Transpose(x, Int32s(x, permutation)); }
Expr SwapLastTwo(const Expr& x) {
  const Expr rank = RankOf(x);
  const Expr order =
      Concat({Range(Int32(x, 0), rank - 2, Int32(x, 1)), ExpandDims(rank - 1, 0), ExpandDims(rank - 2, 0)}, 0);
  return Transpose(x, order);
}
Expr Adjoint(const Expr& x) { return Conj(SwapLastTwo(x)); }
Expr InvertPermutation(const Expr& x) { return AddOp("InvertPermutation", {x}); }
Expr Tile(const Expr& x, const Expr& multiples) { return AddOp("Tile", {x, multiples}); }
Expr Range(const Expr& start, const Expr& limit, const Expr& delta) { return AddOp("Range", {start, limit, delta}); }
Expr Pack(const Exprs& parts, int64_t axis) { return AddOp("Pack", parts, {{"axis", AttrValue(axis)}}); }
Expr Concat(const Exprs& parts, const Expr& axis) {
  if (parts.size() == 1) return parts[0];
  Exprs inputs = parts;
  inputs.push_back(axis);
  return AddOp("ConcatV2", inputs, {{"N", AttrValue(static_cast<int64_t>(parts.size()))}});
}
Expr Concat(const Exprs& parts, int64_t axis) { return Concat(parts, Int32(parts[0], axis)); }
Expr Slice(const Expr& x, const Expr& begin, const Expr& size) { return AddOp("Slice", {x, begin, size}); }
Expr SliceRange(const Expr& x, int64_t begin, int64_t end) {
  return AddOp("StridedSlice", {x, Int32s(x, {begin}), Int32s(x, {end}), Int32s(x, {1})});
}
Expr SliceFrom(const Expr& x, int64_t begin) {
  return AddOp("StridedSlice", {x, Int32s(x, {begin}), Int32s(x, {0}), Int32s(x, {1})}, {{"end_mask", AttrValue(1)}});
}
Expr Element(const Expr& x, int64_t i) {
  // The end of the last element is 0, which the mask replaces by the end of the axis.
  const bool is_last = i == -1;
  return AddOp("StridedSlice", {x, Int32s(x, {i}), Int32s(x, {i + 1}), Int32s(x, {1})},
               {{"shrink_axis_mask", AttrValue(1)}, {"end_mask", AttrValue(is_last ? 1 : 0)}});
}
Expr Pad(const Expr& x, const Expr& paddings) { return AddOp("Pad", {x, paddings}); }
Expr Gather(const Expr& x, const Expr& indices, const Expr& axis) { return AddOp("GatherV2", {x, indices, axis}); }
Expr Gather(const Expr& x, const Expr& indices, int64_t axis) { return Gather(x, indices, Int32(x, axis)); }
Expr GatherNd(const Expr& x, const Expr& indices) { return AddOp("GatherNd", {x, indices}); }
Expr ScatterNd(const Expr& indices, const Expr& updates, const Expr& shape) {
  return AddOp("ScatterNd", {indices, updates, shape});
}
Expr UnsortedSegmentSum(const Expr& x, const Expr& ids, const Expr& count) {
  return AddOp("UnsortedSegmentSum", {x, ids, count});
}

// --- Reductions and products ---------------------------------------------------------------------------------------

Expr Sum(const Expr& x, absl::Span<const int64_t> axes, bool keep_dims) { return Sum(x, Int32s(x, axes), keep_dims); }
Expr SumAll(const Expr& x) { return Sum(x, Range(Int32(x, 0), RankOf(x), Int32(x, 1))); }
Expr Sum(const Expr& x, const Expr& axes, bool keep_dims) {
  return AddOp("Sum", {x, axes}, {{"keep_dims", AttrValue(keep_dims)}});
}
Expr Mean(const Expr& x, const Expr& axes, bool keep_dims) {
  return AddOp("Mean", {x, axes}, {{"keep_dims", AttrValue(keep_dims)}});
}
Expr Prod(const Expr& x, const Expr& axes, bool keep_dims) {
  return AddOp("Prod", {x, axes}, {{"keep_dims", AttrValue(keep_dims)}});
}
Expr MatMul(const Expr& a, const Expr& b, bool transpose_a, bool transpose_b) {
  return AddOp("MatMul", {a, b}, {{"transpose_a", AttrValue(transpose_a)}, {"transpose_b", AttrValue(transpose_b)}});
}
Expr BatchMatMul(const Expr& a, const Expr& b, bool adjoint_a, bool adjoint_b) {
  return AddOp("BatchMatMulV2", {a, b}, {{"adj_x", AttrValue(adjoint_a)}, {"adj_y", AttrValue(adjoint_b)}});
}

}  // namespace sluice
