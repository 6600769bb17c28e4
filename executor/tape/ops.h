#ifndef SLUICE_EXECUTOR_TAPE_OPS_H_
#define SLUICE_EXECUTOR_TAPE_OPS_H_

// The ops that programs on a tape use most, as functions and operators on variables. All others: Tape::Op. Each calls
// TensorFlow's op of that name at once. One with a variable that has failed fails the same way; so do variables of two
// tapes, or undefined ones.

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "executor/tape/eager_op.h"
#include "executor/tape/var.h"

namespace sluice {

// The only output of any op; type attrs that follow from the inputs need not be given.
Var CallOp(absl::string_view op, absl::Span<const Var> inputs, const EagerOp::Attrs& attrs = {});
// All of them; where the call fails as many that have failed, if it is known how many the op has, and one otherwise.
std::vector<Var> CallOps(absl::string_view op, absl::Span<const Var> inputs, const EagerOp::Attrs& attrs = {});

// A constant on the tape of `like`.
Var ConstantLike(const Var& like, const Tensor& value);
// A scalar of the type of `like`; failed where `value` is no number of that type.
Var NumberLike(const Var& like, double value);

// --- Arithmetic, with broadcasting ---------------------------------------------------------------------------------
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
Var Maximum(const Var& a, const Var& b);
Var Minimum(const Var& a, const Var& b);

// --- Elements ------------------------------------------------------------------------------------------------------
Var Exp(const Var& x);
Var Log(const Var& x);
Var Sqrt(const Var& x);
Var Square(const Var& x);
Var Tanh(const Var& x);
Var Sigmoid(const Var& x);
Var Relu(const Var& x);
Var Sin(const Var& x);
Var Cos(const Var& x);
Var Abs(const Var& x);
Var Cast(const Var& x, DType type);

// --- Matrices, shapes, reductions ----------------------------------------------------------------------------------
Var MatMul(const Var& a, const Var& b, bool transpose_a = false, bool transpose_b = false);
// Over all elements, or along the given axes.
Var Sum(const Var& x);
Var Sum(const Var& x, absl::Span<const int32_t> axes, bool keep_dims = false);
Var Mean(const Var& x);
Var Mean(const Var& x, absl::Span<const int32_t> axes, bool keep_dims = false);
Var Reshape(const Var& x, absl::Span<const int32_t> shape);
Var Transpose(const Var& x, absl::Span<const int32_t> permutation);
Var Concat(absl::Span<const Var> parts, int32_t axis);
// `parts` of them in any case.
std::vector<Var> Split(const Var& x, int32_t axis, int32_t parts);
Var Softmax(const Var& logits);
// The loss of each row: `labels` are the indices of the right classes.
Var SparseSoftmaxCrossEntropy(const Var& logits, const Var& labels);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_OPS_H_
