#include "executor/tape/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "executor/tape/axis.h"
#include "executor/tape/record.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ops/op_table.h"
#include "graph/value/tensor_numbers.h"

namespace sluice {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the tape of the inputs.
absl::StatusOr<TapeCore*> CoreOf(absl::string_view op, absl::Span<const Var> inputs) {
  TapeCore* core = nullptr;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Var& input = inputs[i];
    if (!input.defined()) {
      return Error(ErrorCode::kTapeUndefined).Node(op, op).Input(static_cast<int32_t>(i)).Text("is undefined");
    }
    const VarState& state = *input.state();
    if (state.core == nullptr) return state.status;
    if (core != nullptr && core != state.core) {
      return Error(ErrorCode::kTapeForeign)
          .Node(op, op)
          .Input(static_cast<int32_t>(i))
          .Text("is a variable of another tape than the input before it");
    }
    core = state.core;
  }
  if (core != nullptr) return core;
  return Error(ErrorCode::kWrongUse)
      .Node(op, op)
      .Text("has no inputs, which say what tape it is called on: use Tape::Op");
}

absl::StatusOr<std::vector<Var>> Call(absl::string_view op, absl::Span<const Var> inputs, const EagerOp::Attrs& attrs) {
  return AsStatus([&]() -> absl::StatusOr<std::vector<Var>> {
    SLUICE_ASSIGN_OR_RETURN(TapeCore* const core, CoreOf(op, inputs));
    absl::InlinedVector<OpInput, 6> values;
    for (const Var& input : inputs) values.push_back(OpInput::Of(input));
    std::vector<TapeValue> outputs;
    SLUICE_RETURN_IF_ERROR(CallOp(*core, op, attrs, values, &outputs));
    std::vector<Var> vars;
    for (TapeValue& output : outputs) vars.push_back(VarOf(*core, std::move(output)));
    return vars;
  });
}

// Calls one of the ops that formulas are made of: needs no key and allocates nothing of its own.
Var CallCommon(CommonOp op, absl::Span<const Var> inputs) {
  absl::StatusOr<Var> result = AsStatus([&]() -> absl::StatusOr<Var> {
    SLUICE_ASSIGN_OR_RETURN(TapeCore* const core, CoreOf(CommonOpName(op), inputs));
    const DType type = inputs[0].dtype();
    // The general call reports the wrong type.
    if (inputs.back().dtype() != type) return CallOp(CommonOpName(op), inputs);
    SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const EagerOp>* const called,
                            core->common_ops().Find(op, type, inputs.size()));
    OpInput values[2];
    for (size_t i = 0; i < inputs.size(); ++i) values[i] = OpInput::Of(inputs[i]);
    TapeValue output;
    SLUICE_RETURN_IF_ERROR(
        CallOp(*core, *called, absl::MakeConstSpan(values, inputs.size()), absl::MakeSpan(&output, 1)));
    return VarOf(*core, std::move(output));
  });
  return result.ok() ? *std::move(result) : Var::Failed(result.status());
}

Var Reduce(absl::string_view op, const Var& x, absl::Span<const int32_t> axes, bool keep_dims) {
  return CallOp(op, {x, ConstantLike(x, Tensor::Vector<int32_t>(axes))}, {{"keep_dims", keep_dims}});
}

// Returns a constant of `like`'s type whose elements are all `value`.
Var FilledOf(const Var& like, const Shape& shape, double value) {
  if (!like.defined() || !like.status().ok()) return like;
  const absl::StatusOr<Tensor> filled = FilledTensor(like.dtype(), shape, value);
  if (filled.ok()) return ConstantLike(like, *filled);
  const std::optional<ErrorInfo> info = ErrorInfoOf(filled.status());
  if (!info.has_value() || info->code != ErrorCode::kTensorDType) return Var::Failed(filled.status());
  return Var::Failed(Error(ErrorCode::kInputType).Text(info->text).Found(info->found));
}

// Calls `op`, which works along the last axis, along another axis of x.
Var AlongAxis(absl::string_view op, const Var& x, int32_t axis) {
  const absl::StatusOr<int32_t> at = AxisOf(op, x, axis);
  if (!at.ok()) return Var::Failed(at.status());
  const int32_t rank = x.shape().rank();
  if (rank == 0) return Reshape(CallOp(op, {Reshape(x, {1})}), {});
  if (*at == rank - 1) return CallOp(op, {x});
  return SwapAxes(CallOp(op, {SwapAxes(x, *at, -1)}), *at, -1);
}

}  // namespace

std::vector<Var> CallOps(absl::string_view op, absl::Span<const Var> inputs, const EagerOp::Attrs& attrs) {
  absl::StatusOr<std::vector<Var>> outputs = Call(op, inputs, attrs);
  if (outputs.ok()) return *std::move(outputs);
  const OpRegistry* ops = &BuiltinOps();
  for (const Var& input : inputs) {
    if (input.status().ok() && input.defined()) ops = &input.state()->core->ops().registry();
  }
  return FailedOutputs(*ops, op, attrs, inputs.size(), outputs.status());
}

Var CallOp(absl::string_view op, absl::Span<const Var> inputs, const EagerOp::Attrs& attrs) {
  absl::StatusOr<std::vector<Var>> outputs = Call(op, inputs, attrs);
  if (!outputs.ok()) return Var::Failed(outputs.status());
  if (outputs->size() == 1) return std::move(outputs->front());
  return Var::Failed(Error(ErrorCode::kWrongUse)
                         .Node(op, op)
                         .Text("does not have one output: use CallOps")
                         .Found(absl::StrCat(outputs->size())));
}

Var ConstantLike(const Var& like, const Tensor& value) {
  if (!like.defined() || !like.status().ok()) return like;
  return ConstantOf(*like.state()->core, value);
}

Var NumberLike(const Var& like, double value) {
  if (!like.defined() || !like.status().ok()) return like;
  if (like.dtype() == DType::kFloat) return ConstantLike(like, Tensor::Scalar(static_cast<float>(value)));
  if (like.dtype() == DType::kDouble) return ConstantLike(like, Tensor::Scalar(value));
  return FilledOf(like, Shape(), value);
}

Var FullLike(const Var& like, double value) { return FilledOf(like, like.shape(), value); }
Var ZerosLike(const Var& like) { return FullLike(like, 0); }
Var OnesLike(const Var& like) { return FullLike(like, 1); }

// --- Arithmetic ------------------------------------------------------------------------------------------------------

Var operator+(const Var& a, const Var& b) { return CallCommon(CommonOp::kAddV2, {a, b}); }
Var operator-(const Var& a, const Var& b) { return CallCommon(CommonOp::kSub, {a, b}); }
Var operator*(const Var& a, const Var& b) { return CallCommon(CommonOp::kMul, {a, b}); }
Var operator/(const Var& a, const Var& b) { return CallCommon(CommonOp::kRealDiv, {a, b}); }
Var operator-(const Var& a) { return CallCommon(CommonOp::kNeg, {a}); }
Var operator+(const Var& a, double b) { return a + NumberLike(a, b); }
Var operator-(const Var& a, double b) { return a - NumberLike(a, b); }
Var operator*(const Var& a, double b) { return a * NumberLike(a, b); }
Var operator/(const Var& a, double b) { return a / NumberLike(a, b); }
Var operator+(double a, const Var& b) { return NumberLike(b, a) + b; }
Var operator-(double a, const Var& b) { return NumberLike(b, a) - b; }
Var operator*(double a, const Var& b) { return NumberLike(b, a) * b; }
Var operator/(double a, const Var& b) { return NumberLike(b, a) / b; }
Var Pow(const Var& a, const Var& b) { return CallCommon(CommonOp::kPow, {a, b}); }
Var Maximum(const Var& a, const Var& b) { return CallCommon(CommonOp::kMaximum, {a, b}); }
Var Minimum(const Var& a, const Var& b) { return CallCommon(CommonOp::kMinimum, {a, b}); }

Var Pow(const Var& a, double b) { return Pow(a, NumberLike(a, b)); }
Var Maximum(const Var& a, double b) { return Maximum(a, NumberLike(a, b)); }
Var Minimum(const Var& a, double b) { return Minimum(a, NumberLike(a, b)); }
Var Clip(const Var& x, double low, double high) {
  Var clipped = x;
  if (low > -kInfinity) clipped = MaskedFill(clipped, LessEqual(clipped, low), low);
  if (high < kInfinity) clipped = MaskedFill(clipped, GreaterEqual(clipped, high), high);
  return SameVar(clipped, x) ? Clone(x) : clipped;
}

// --- Comparisons -----------------------------------------------------------------------------------------------------

Var Equal(const Var& a, const Var& b) { return CallOp("Equal", {a, b}); }
Var NotEqual(const Var& a, const Var& b) { return CallOp("NotEqual", {a, b}); }
Var Less(const Var& a, const Var& b) { return CallOp("Less", {a, b}); }
Var LessEqual(const Var& a, const Var& b) { return CallOp("LessEqual", {a, b}); }
Var Greater(const Var& a, const Var& b) { return CallOp("Greater", {a, b}); }
Var GreaterEqual(const Var& a, const Var& b) { return CallOp("GreaterEqual", {a, b}); }
Var Equal(const Var& a, double b) { return Equal(a, NumberLike(a, b)); }
Var NotEqual(const Var& a, double b) { return NotEqual(a, NumberLike(a, b)); }
Var Less(const Var& a, double b) { return Less(a, NumberLike(a, b)); }
Var LessEqual(const Var& a, double b) { return LessEqual(a, NumberLike(a, b)); }
Var Greater(const Var& a, double b) { return Greater(a, NumberLike(a, b)); }
Var GreaterEqual(const Var& a, double b) { return GreaterEqual(a, NumberLike(a, b)); }
Var LogicalAnd(const Var& a, const Var& b) { return CallOp("LogicalAnd", {a, b}); }
Var LogicalOr(const Var& a, const Var& b) { return CallOp("LogicalOr", {a, b}); }
Var LogicalNot(const Var& a) { return CallOp("LogicalNot", {a}); }
Var IsNan(const Var& x) { return CallOp("IsNan", {x}); }
Var IsFinite(const Var& x) { return CallOp("IsFinite", {x}); }

Var Where(const Var& condition, const Var& a, const Var& b) { return CallOp("SelectV2", {condition, a, b}); }
Var Where(const Var& condition, const Var& a, double b) { return Where(condition, a, NumberLike(a, b)); }
Var Where(const Var& condition, double a, const Var& b) { return Where(condition, NumberLike(b, a), b); }
Var MaskedFill(const Var& x, const Var& mask, double value) { return Where(mask, value, x); }

// --- Element by element ----------------------------------------------------------------------------------------------

Var Exp(const Var& x) { return CallCommon(CommonOp::kExp, {x}); }
Var Expm1(const Var& x) { return CallOp("Expm1", {x}); }
Var Log(const Var& x) { return CallCommon(CommonOp::kLog, {x}); }
Var Log1p(const Var& x) { return CallOp("Log1p", {x}); }
Var Sqrt(const Var& x) { return CallCommon(CommonOp::kSqrt, {x}); }
Var Rsqrt(const Var& x) { return CallOp("Rsqrt", {x}); }
Var Reciprocal(const Var& x) { return CallOp("Reciprocal", {x}); }
Var Square(const Var& x) { return CallCommon(CommonOp::kSquare, {x}); }
Var Abs(const Var& x) {
  if (IsComplex(x.dtype()))
    return CallOp("ComplexAbs", {x}, {{"Tout", x.dtype() == DType::kComplex64 ? DType::kFloat : DType::kDouble}});
  return CallCommon(CommonOp::kAbs, {x});
}
Var Sign(const Var& x) { return CallOp("Sign", {x}); }
Var Floor(const Var& x) { return CallOp("Floor", {x}); }
Var Ceil(const Var& x) { return CallOp("Ceil", {x}); }
Var Round(const Var& x) { return CallOp("Round", {x}); }
Var Sin(const Var& x) { return CallCommon(CommonOp::kSin, {x}); }
Var Cos(const Var& x) { return CallCommon(CommonOp::kCos, {x}); }
Var Tan(const Var& x) { return CallOp("Tan", {x}); }
Var Tanh(const Var& x) { return CallCommon(CommonOp::kTanh, {x}); }
Var Erf(const Var& x) { return CallOp("Erf", {x}); }
Var Sigmoid(const Var& x) { return CallCommon(CommonOp::kSigmoid, {x}); }
Var Relu(const Var& x) { return CallCommon(CommonOp::kRelu, {x}); }
// Not the op LeakyRelu, whose slope is a float also where x is not.
Var LeakyRelu(const Var& x, double slope) { return Where(Greater(x, 0.0), x, x * slope); }
Var Elu(const Var& x) { return CallOp("Elu", {x}); }
Var Selu(const Var& x) { return CallOp("Selu", {x}); }
Var Gelu(const Var& x) { return 0.5 * x * (1.0 + Erf(x * std::sqrt(0.5))); }
Var Silu(const Var& x) { return x * Sigmoid(x); }
Var Softplus(const Var& x) { return CallOp("Softplus", {x}); }
Var Cast(const Var& x, DType type) { return CallOp("Cast", {x}, {{"DstT", type}}); }

// --- Matrices --------------------------------------------------------------------------------------------------------

Var MatMul(const Var& a, const Var& b, bool transpose_a, bool transpose_b) {
  const int rank_a = a.shape().rank(), rank_b = b.shape().rank();
  const bool is_plain = !a.status().ok() || !b.status().ok() || rank_a == 0 || rank_b == 0;
  if (is_plain || (rank_a == 2 && rank_b == 2)) {
    return CallOp("MatMul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
  }
  if ((rank_a == 1 && transpose_a) || (rank_b == 1 && transpose_b)) {
    return Var::Failed(Error(ErrorCode::kOpShape)
                           .Node("MatMul", "MatMul")
                           .Input(rank_a == 1 ? 0 : 1)
                           .Text("is a vector, which cannot "
                                 "be transposed"));
  }
  if (rank_a == 1) return Squeeze(MatMul(Unsqueeze(a, 0), b, false, transpose_b), {rank_b == 1 ? -1 : -2});
  if (rank_b == 1) return Squeeze(MatMul(a, Unsqueeze(b, 1), transpose_a, false), {-1});
  // The op's own transposition conjugates.
  if (IsComplex(a.dtype()) && (transpose_a || transpose_b)) {
    return MatMul(transpose_a ? SwapAxes(a, -2, -1) : a, transpose_b ? SwapAxes(b, -2, -1) : b);
  }
  return CallOp("BatchMatMulV2", {a, b}, {{"adj_x", transpose_a}, {"adj_y", transpose_b}});
}

Var Einsum(absl::string_view equation, absl::Span<const Var> inputs) {
  return CallOp("Einsum", inputs, {{"equation", equation}, {"N", static_cast<int64_t>(inputs.size())}});
}

// --- Reductions ------------------------------------------------------------------------------------------------------

std::vector<int32_t> AllAxes(const Var& x) {
  std::vector<int32_t> axes;
  for (int i = 0; i < x.shape().rank(); ++i) axes.push_back(i);
  return axes;
}

Var Sum(const Var& x) { return Sum(x, AllAxes(x)); }
Var Sum(const Var& x, absl::Span<const int32_t> axes, bool keep_dims) { return Reduce("Sum", x, axes, keep_dims); }
Var Mean(const Var& x) { return Mean(x, AllAxes(x)); }
Var Mean(const Var& x, absl::Span<const int32_t> axes, bool keep_dims) { return Reduce("Mean", x, axes, keep_dims); }
Var Prod(const Var& x) { return Prod(x, AllAxes(x)); }
Var Prod(const Var& x, absl::Span<const int32_t> axes, bool keep_dims) { return Reduce("Prod", x, axes, keep_dims); }
Var Max(const Var& x) { return Max(x, AllAxes(x)); }
Var Max(const Var& x, absl::Span<const int32_t> axes, bool keep_dims) { return Reduce("Max", x, axes, keep_dims); }
Var Min(const Var& x) { return Min(x, AllAxes(x)); }
Var Min(const Var& x, absl::Span<const int32_t> axes, bool keep_dims) { return Reduce("Min", x, axes, keep_dims); }
Var All(const Var& x) { return All(x, AllAxes(x)); }
Var All(const Var& x, absl::Span<const int32_t> axes, bool keep_dims) { return Reduce("All", x, axes, keep_dims); }
Var Any(const Var& x) { return Any(x, AllAxes(x)); }
Var Any(const Var& x, absl::Span<const int32_t> axes, bool keep_dims) { return Reduce("Any", x, axes, keep_dims); }

Var Variance(const Var& x) { return Variance(x, AllAxes(x)); }
Var Variance(const Var& x, absl::Span<const int32_t> axes, bool keep_dims, double correction) {
  const Var squares = Sum(Square(x - Mean(x, axes, /*keep_dims=*/true)), axes, keep_dims);
  const auto elements = static_cast<double>(x.shape().num_elements());
  const auto results = static_cast<double>(squares.shape().num_elements());
  return squares / std::max(0.0, elements / results - correction);
}

Var LogSumExp(const Var& x) { return LogSumExp(x, AllAxes(x)); }
Var LogSumExp(const Var& x, absl::Span<const int32_t> axes, bool keep_dims) {
  const Var largest = Max(x, axes, /*keep_dims=*/true).Detach();
  const Var shift = Where(IsFinite(largest), largest, 0.0);
  return Log(Sum(Exp(x - shift), axes, keep_dims)) + Sum(shift, axes, keep_dims);
}

Var Norm(const Var& x) { return Norm(x, AllAxes(x)); }
Var Norm(const Var& x, absl::Span<const int32_t> axes, bool keep_dims, double p) {
  if (p == 2) {
    const Var squares = Sum(Square(IsComplex(x.dtype()) ? Abs(x) : x), axes, keep_dims);
    // The derivative of the norm is 0 at zero, where the square root has none.
    const Var is_zero = Equal(squares, 0.0);
    return MaskedFill(Sqrt(MaskedFill(squares, is_zero, 1)), is_zero, 0);
  }
  const Var sizes = Abs(x);
  if (p == kInfinity) return Max(sizes, axes, keep_dims);
  if (p == -kInfinity) return Min(sizes, axes, keep_dims);
  if (p == 0) return Sum(Cast(NotEqual(sizes, 0.0), sizes.dtype()), axes, keep_dims);
  if (p == 1) return Sum(sizes, axes, keep_dims);
  return Pow(Sum(Pow(sizes, p), axes, keep_dims), 1 / p);
}

Var CumSum(const Var& x, int32_t axis) { return CallOp("Cumsum", {x, ConstantLike(x, Tensor::Scalar(axis))}); }
Var Argmax(const Var& x, int32_t axis) { return CallOp("ArgMax", {x, ConstantLike(x, Tensor::Scalar(axis))}); }
Var Argmin(const Var& x, int32_t axis) { return CallOp("ArgMin", {x, ConstantLike(x, Tensor::Scalar(axis))}); }

// --- Losses ----------------------------------------------------------------------------------------------------------

Var Softmax(const Var& logits, int32_t axis) { return AlongAxis("Softmax", logits, axis); }
Var LogSoftmax(const Var& logits, int32_t axis) { return AlongAxis("LogSoftmax", logits, axis); }

Var SparseSoftmaxCrossEntropy(const Var& logits, const Var& labels) {
  return CallOps("SparseSoftmaxCrossEntropyWithLogits", {logits, labels})[0];
}

}  // namespace sluice
