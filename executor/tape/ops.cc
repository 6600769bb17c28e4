#include "executor/tape/ops.h"

#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "executor/tape/record.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ops/op_table.h"
#include "graph/value/float16.h"

namespace sluice {
namespace {

// The tape of the inputs.
absl::StatusOr<TapeCore*> CoreOf(absl::string_view op, absl::Span<const Var> inputs) {
  TapeCore* core = nullptr;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Var& input = inputs[i];
    if (!input.defined()) {
      return Error(ErrorCode::kWrongUse).Node(op, op).Input(static_cast<int32_t>(i)).Text("is undefined");
    }
    const VarState& state = *input.state();
    if (state.core == nullptr) return state.status;
    if (core != nullptr && core != state.core) {
      return Error(ErrorCode::kWrongUse)
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

// One of the ops that formulas are made of: without a key, and without memory of its own.
Var CallCommon(CommonOp op, absl::Span<const Var> inputs) {
  absl::StatusOr<Var> result = AsStatus([&]() -> absl::StatusOr<Var> {
    SLUICE_ASSIGN_OR_RETURN(TapeCore* const core, CoreOf(CommonOpName(op), inputs));
    const DType type = inputs[0].dtype();
    // A wrong type is an error that the general way knows to tell.
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

// Whether `value` is a number of the integer type T.
template <typename T>
bool IsWhole(double value) {
  const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return value == std::trunc(value) && value >= -limit && value < limit;
}

absl::Status NotOfType(DType type, double value) {
  return Error(ErrorCode::kInputType)
      .Text("combines a variable of integers with a number that is none of theirs")
      .Found(absl::StrCat(value))
      .Expected(DTypeName(type));
}

absl::StatusOr<Tensor> ScalarOf(DType type, double value) {
  switch (type) {
    case DType::kFloat:
      return Tensor::Scalar(static_cast<float>(value));
    case DType::kDouble:
      return Tensor::Scalar(value);
    case DType::kHalf:
      return Tensor::Scalar(Half(static_cast<float>(value)));
    case DType::kBFloat16:
      return Tensor::Scalar(BFloat16(static_cast<float>(value)));
    case DType::kComplex64:
      return Tensor::Scalar(std::complex<float>(static_cast<float>(value)));
    case DType::kComplex128:
      return Tensor::Scalar(std::complex<double>(value));
    case DType::kInt32:
      if (!IsWhole<int32_t>(value)) return NotOfType(type, value);
      return Tensor::Scalar(static_cast<int32_t>(value));
    case DType::kInt64:
      if (!IsWhole<int64_t>(value)) return NotOfType(type, value);
      return Tensor::Scalar(static_cast<int64_t>(value));
    default:
      return Error(ErrorCode::kUnsupported).Text("has a type that no number is made of").Found(DTypeName(type));
  }
}

Var Reduce(absl::string_view op, const Var& x, absl::Span<const int32_t> axes, bool keep_dims) {
  return CallOp(op, {x, ConstantLike(x, Tensor::Vector<int32_t>(axes))}, {{"keep_dims", keep_dims}});
}

std::vector<int32_t> AllAxes(const Var& x) {
  std::vector<int32_t> axes;
  for (int i = 0; i < x.shape().rank(); ++i) axes.push_back(i);
  return axes;
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
  absl::StatusOr<Tensor> number = ScalarOf(like.dtype(), value);
  return number.ok() ? ConstantLike(like, *number) : Var::Failed(number.status());
}

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

Var Exp(const Var& x) { return CallCommon(CommonOp::kExp, {x}); }
Var Log(const Var& x) { return CallCommon(CommonOp::kLog, {x}); }
Var Sqrt(const Var& x) { return CallCommon(CommonOp::kSqrt, {x}); }
Var Square(const Var& x) { return CallCommon(CommonOp::kSquare, {x}); }
Var Tanh(const Var& x) { return CallCommon(CommonOp::kTanh, {x}); }
Var Sigmoid(const Var& x) { return CallCommon(CommonOp::kSigmoid, {x}); }
Var Relu(const Var& x) { return CallCommon(CommonOp::kRelu, {x}); }
Var Sin(const Var& x) { return CallCommon(CommonOp::kSin, {x}); }
Var Cos(const Var& x) { return CallCommon(CommonOp::kCos, {x}); }
Var Abs(const Var& x) { return CallCommon(CommonOp::kAbs, {x}); }
Var Cast(const Var& x, DType type) { return CallOp("Cast", {x}, {{"DstT", type}}); }

Var MatMul(const Var& a, const Var& b, bool transpose_a, bool transpose_b) {
  return CallOp("MatMul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

Var Sum(const Var& x) { return Sum(x, AllAxes(x)); }
Var Sum(const Var& x, absl::Span<const int32_t> axes, bool keep_dims) { return Reduce("Sum", x, axes, keep_dims); }
Var Mean(const Var& x) { return Mean(x, AllAxes(x)); }
Var Mean(const Var& x, absl::Span<const int32_t> axes, bool keep_dims) { return Reduce("Mean", x, axes, keep_dims); }

Var Reshape(const Var& x, absl::Span<const int32_t> shape) {
  return CallOp("Reshape", {x, ConstantLike(x, Tensor::Vector<int32_t>(shape))});
}

Var Transpose(const Var& x, absl::Span<const int32_t> permutation) {
  return CallOp("Transpose", {x, ConstantLike(x, Tensor::Vector<int32_t>(permutation))});
}

Var Concat(absl::Span<const Var> parts, int32_t axis) {
  if (parts.empty()) return Var::Failed(Error(ErrorCode::kWrongUse).Node("ConcatV2", "ConcatV2").Text("has no parts"));
  std::vector<Var> inputs(parts.begin(), parts.end());
  inputs.push_back(ConstantLike(parts[0], Tensor::Scalar(axis)));
  return CallOp("ConcatV2", inputs, {{"N", static_cast<int64_t>(parts.size())}});
}

std::vector<Var> Split(const Var& x, int32_t axis, int32_t parts) {
  return CallOps("Split", {ConstantLike(x, Tensor::Scalar(axis)), x}, {{"num_split", parts}});
}

Var Softmax(const Var& logits) { return CallOp("Softmax", {logits}); }

Var SparseSoftmaxCrossEntropy(const Var& logits, const Var& labels) {
  return CallOps("SparseSoftmaxCrossEntropyWithLogits", {logits, labels})[0];
}

}  // namespace sluice
