#ifndef SLUICE_EXECUTOR_TAPE_OPS_H_
#define SLUICE_EXECUTOR_TAPE_OPS_H_

// The ops that programs on a tape use most, as functions and operators on variables; those that move elements are in
// shape_ops.h, which this header includes. All others: CallOp and Tape::Op, by TensorFlow's names.
// A call that fails returns a Var that carries its Status (see Var), also for undefined operands or ones of two tapes
// or types. Axes count from 0, or from the last one, which is -1. Two operands are broadcast to one shape.

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "executor/tape/eager_op.h"
#include "executor/tape/shape_ops.h"
#include "executor/tape/var.h"

namespace sluice {

// Calls any op that has one output; type attrs that follow from the inputs need not be given.
Var CallOp(absl::string_view op, absl::Span<const Var> inputs, const EagerOp::Attrs& attrs = {});
// Calls any op and returns all of its outputs. If the call fails, all of them carry the error; one does if their number
// is unknown.
std::vector<Var> CallOps(absl::string_view op, absl::Span<const Var> inputs, const EagerOp::Attrs& attrs = {});

// A constant on the tape of `like`.
Var ConstantLike(const Var& like, const Tensor& value);
// A scalar of the type of `like`; failed if that type cannot hold `value` (2.5 as int32).
Var NumberLike(const Var& like, double value);

// A constant of the shape and type of `like`.
Var FullLike(const Var& like, double value);
Var ZerosLike(const Var& like);
Var OnesLike(const Var& like);

// --- Arithmetic ------------------------------------------------------------------------------------------------------
Var operator+(const Var& a, const Var& b);
Var operator-(const Var& a, const Var& b);
Var operator*(const Var& a, const Var& b);
Var operator/(const Var& a, const Var& b);
Var operator-(const Var& a);
Var operator+(const Var& a, double b);
Var operator-(const Var& a, double b);
Var operator*(const Var& a, double b);
Var operator/(const Var& a, double b);
Var operator+(double a, const Var& b);
Var operator-(double a, const Var& b);
Var operator*(double a, const Var& b);
Var operator/(double a, const Var& b);
Var Pow(const Var& a, const Var& b);
Var Pow(const Var& a, double b);
// If both are equal, a gets the gradient (PyTorch: half for each).
Var Maximum(const Var& a, const Var& b);
Var Minimum(const Var& a, const Var& b);
Var Maximum(const Var& a, double b);
Var Minimum(const Var& a, double b);
// min(max(x, low), high); the bounds may be infinite. At them the gradient is 1.
Var Clip(const Var& x, double low, double high);

// --- Comparisons: booleans, through which no gradient flows ----------------------------------------------------------
Var Equal(const Var& a, const Var& b);
Var NotEqual(const Var& a, const Var& b);
Var Less(const Var& a, const Var& b);
Var LessEqual(const Var& a, const Var& b);
Var Greater(const Var& a, const Var& b);
Var GreaterEqual(const Var& a, const Var& b);
Var Equal(const Var& a, double b);
Var NotEqual(const Var& a, double b);
Var Less(const Var& a, double b);
Var LessEqual(const Var& a, double b);
Var Greater(const Var& a, double b);
Var GreaterEqual(const Var& a, double b);
Var LogicalAnd(const Var& a, const Var& b);
Var LogicalOr(const Var& a, const Var& b);
Var LogicalNot(const Var& a);
Var IsNan(const Var& x);
Var IsFinite(const Var& x);
// `a` where the condition holds, `b` elsewhere.
Var Where(const Var& condition, const Var& a, const Var& b);
Var Where(const Var& condition, const Var& a, double b);
Var Where(const Var& condition, double a, const Var& b);
// `value` where `mask` holds, `x` elsewhere.
Var MaskedFill(const Var& x, const Var& mask, double value);

// --- Element by element ----------------------------------------------------------------------------------------------
Var Exp(const Var& x);
Var Expm1(const Var& x);
Var Log(const Var& x);
Var Log1p(const Var& x);
Var Sqrt(const Var& x);
Var Rsqrt(const Var& x);
Var Reciprocal(const Var& x);
Var Square(const Var& x);
Var Abs(const Var& x);
Var Sign(const Var& x);
Var Floor(const Var& x);
Var Ceil(const Var& x);
Var Round(const Var& x);  // Halves to even numbers.
Var Sin(const Var& x);
Var Cos(const Var& x);
Var Tan(const Var& x);
Var Tanh(const Var& x);
Var Erf(const Var& x);
Var Sigmoid(const Var& x);
Var Relu(const Var& x);
Var LeakyRelu(const Var& x, double slope = 0.01);
Var Elu(const Var& x);
Var Selu(const Var& x);
Var Gelu(const Var& x);  // By the error function.
Var Silu(const Var& x);
Var Softplus(const Var& x);
Var Cast(const Var& x, DType type);

// --- Matrices --------------------------------------------------------------------------------------------------------
// The product of matrices, of stacks of them (axes before the last two are broadcast), or of one of these and a vector,
// which has no axis in the result. Vectors cannot be transposed.
Var MatMul(const Var& a, const Var& b, bool transpose_a = false, bool transpose_b = false);
// "ij,jk->ik", "bij->bji", ...
Var Einsum(absl::string_view equation, absl::Span<const Var> inputs);

// --- Reductions: over all elements, or along the given axes ----------------------------------------------------------
// {0, 1, ...}: all axes of x.
std::vector<int32_t> AllAxes(const Var& x);
Var Sum(const Var& x);
Var Sum(const Var& x, absl::Span<const int32_t> axes, bool keep_dims = false);
Var Mean(const Var& x);
Var Mean(const Var& x, absl::Span<const int32_t> axes, bool keep_dims = false);
Var Prod(const Var& x);
Var Prod(const Var& x, absl::Span<const int32_t> axes, bool keep_dims = false);
// The gradient goes in equal parts to all elements that are largest or smallest.
Var Max(const Var& x);
Var Max(const Var& x, absl::Span<const int32_t> axes, bool keep_dims = false);
Var Min(const Var& x);
Var Min(const Var& x, absl::Span<const int32_t> axes, bool keep_dims = false);
// Of booleans.
Var All(const Var& x);
Var All(const Var& x, absl::Span<const int32_t> axes, bool keep_dims = false);
Var Any(const Var& x);
Var Any(const Var& x, absl::Span<const int32_t> axes, bool keep_dims = false);
// Of n elements, with a divisor of n - `correction`.
Var Variance(const Var& x);
Var Variance(const Var& x, absl::Span<const int32_t> axes, bool keep_dims = false, double correction = 1);
// log(sum(exp(x))), also where exp(x) is out of range.
Var LogSumExp(const Var& x);
Var LogSumExp(const Var& x, absl::Span<const int32_t> axes, bool keep_dims = false);
// (sum |x|^p)^(1/p); of p = infinity the largest |x|. The gradient of p = 2 at zero is zero.
Var Norm(const Var& x);
Var Norm(const Var& x, absl::Span<const int32_t> axes, bool keep_dims = false, double p = 2);
// Running sums along one axis, each including its element.
Var CumSum(const Var& x, int32_t axis);
// The index along one axis of the first largest or smallest element: int64, through which no gradient flows.
Var Argmax(const Var& x, int32_t axis);
Var Argmin(const Var& x, int32_t axis);

// --- Losses ----------------------------------------------------------------------------------------------------------
Var Softmax(const Var& logits, int32_t axis = -1);
Var LogSoftmax(const Var& logits, int32_t axis = -1);
// The loss of each row: `labels` are the indices of the right classes.
Var SparseSoftmaxCrossEntropy(const Var& logits, const Var& labels);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_OPS_H_
