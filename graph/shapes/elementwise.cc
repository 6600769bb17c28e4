// Shapes of ops that work element by element: one operand, several that broadcast, or several of one shape.

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"
#include "graph/value/dtype.h"

namespace sluice {
namespace {

// Equal and NotEqual may be told to answer a scalar for shapes that do not broadcast.
absl::Status Equality(InferenceContext& c) {
  if (c.Bool("incompatible_shape_error", true)) return BroadcastInputs01(c);
  bool differ = false;
  PartialShape shape = BroadcastShapes(c.input(0), c.input(1), &differ);
  if (differ) {
    c.SetScalar(0);
  } else if (c.input(0).IsFullyDefined() && c.input(1).IsFullyDefined()) {
    c.Set(0, shape);
  }
  return absl::OkStatus();
}

// `then` and `else` have one shape, and the condition has it too, or is a scalar, or a vector along the first axis.
absl::Status Select(InferenceContext& c) {
  PartialShape shape;
  SLUICE_RETURN_IF_ERROR(c.RequireSameShape(1, 2, &shape));
  const PartialShape& condition = c.input(0);
  if (condition.rank() == 1 && shape.rank() >= 1) {
    if (DimsDiffer(condition.dim(0), shape.dim(0))) {
      return c.MismatchError(0, "a vector condition chooses among rows", condition, shape);
    }
  } else if (condition.rank() > 0 && !condition.IsCompatibleWith(shape)) {
    return c.MismatchError(0, "the condition does not have the shape of the operands", condition, shape);
  }
  c.Set(0, shape);
  return absl::OkStatus();
}

absl::Status BroadcastInputs012(InferenceContext& c) { return BroadcastRange(c, 0, 3); }

// The bounds are scalars or have the shape of the operand.
absl::Status ClipByValue(InferenceContext& c) {
  c.Set(0, c.input(0));
  return absl::OkStatus();
}

// Three operands of one shape; some may be scalars.
absl::Status Betainc(InferenceContext& c) {
  PartialShape shape = PartialShape::Scalar();
  for (int i = 0; i < 3; ++i) {
    if (!c.input(i).has_rank()) return absl::OkStatus();
    SLUICE_RETURN_IF_ERROR(MergeOperand(c, i, &shape));
  }
  c.Set(0, shape);
  return absl::OkStatus();
}

// AddN adds tensors of one shape; lists of tensors (variants) are not compared.
absl::Status AddN(InferenceContext& c) {
  if (c.input_type(0) != DType::kVariant) return SameShapeInputs(c);
  c.Pass(0, 0);
  return absl::OkStatus();
}

// A zero of a list is a list of as many zeros.
absl::Status ZerosLike(InferenceContext& c) {
  if (c.input_type(0) != DType::kVariant) return SameAsInput0(c);
  c.Pass(0, 0);
  return absl::OkStatus();
}

absl::Status AccumulateN(InferenceContext& c) {
  absl::StatusOr<PartialShape> merged = c.input(0).MergeWith(c.ShapeAttr("shape"));
  c.Set(0, merged.ok() ? *merged : c.input(0));
  return absl::OkStatus();
}

absl::Status Softmax(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 1));
  return SameAsInput0(c);
}

// Gradients of elementwise ops: the shape is that of either operand, whichever is known better.
absl::Status EitherInput(InferenceContext& c) {
  absl::StatusOr<PartialShape> merged = c.input(0).MergeWith(c.input(1));
  c.Set(0, merged.ok() ? *merged : c.input(0));
  return absl::OkStatus();
}

absl::Status FakeQuantArgs(InferenceContext& c) {
  const int64_t bits = c.Int("num_bits", 8);
  if (bits < 2 || bits > 16) return c.AttrError("num_bits", absl::StrCat("found ", bits, ", expected 2 to 16"));
  return SameAsInput0(c);
}

// Gradients with respect to the operand and to the two bounds.
absl::Status FakeQuantVarsGradient(InferenceContext& c) {
  c.Set(0, c.input(1));
  c.Set(1, PartialShape::Scalar());
  c.Set(2, PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status FakeQuantPerChannelGradient(InferenceContext& c) {
  c.Set(0, c.input(1));
  c.SetVector(1, c.dim(1, -1));
  c.SetVector(2, c.dim(1, -1));
  return absl::OkStatus();
}

// The last axis tells elements apart that share their bits: it appears, disappears or stays.
absl::Status Bitcast(InferenceContext& c) {
  if (!c.input(0).has_rank()) return absl::OkStatus();
  const int64_t from = static_cast<int64_t>(DTypeSize(c.input_type(0)));
  const int64_t to = static_cast<int64_t>(DTypeSize(c.Type("type")));
  if (from == 0 || to == 0) return absl::OkStatus();
  Dims dims = DimsOf(c.input(0));
  if (from > to) {
    dims.push_back(from / to);
  } else if (from < to) {
    if (dims.empty() || DimsDiffer(dims.back(), to / from)) {
      return c.MismatchError(0, absl::StrCat("the last dimension must be ", to / from), c.input(0), PartialShape());
    }
    dims.pop_back();
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"Abs", &SameAsInput0},
    {"AccumulateNV2", &AccumulateN},
    {"Acos", &SameAsInput0},
    {"Acosh", &SameAsInput0},
    {"Add", &BroadcastInputs01},
    {"AddN", &AddN},
    {"AddV2", &BroadcastInputs01},
    {"Angle", &SameAsInput0},
    {"ApproximateEqual", &SameShapeInputs},
    {"Asin", &SameAsInput0},
    {"Asinh", &SameAsInput0},
    {"Atan", &SameAsInput0},
    {"Atan2", &BroadcastInputs01},
    {"Atanh", &SameAsInput0},
    {"BesselI0", &SameAsInput0},
    {"BesselI0e", &SameAsInput0},
    {"BesselI1", &SameAsInput0},
    {"BesselI1e", &SameAsInput0},
    {"BesselJ0", &SameAsInput0},
    {"BesselJ1", &SameAsInput0},
    {"BesselK0", &SameAsInput0},
    {"BesselK0e", &SameAsInput0},
    {"BesselK1", &SameAsInput0},
    {"BesselK1e", &SameAsInput0},
    {"BesselY0", &SameAsInput0},
    {"BesselY1", &SameAsInput0},
    {"Betainc", &Betainc},
    {"Bitcast", &Bitcast},
    {"BitwiseAnd", &BroadcastInputs01},
    {"BitwiseOr", &BroadcastInputs01},
    {"BitwiseXor", &BroadcastInputs01},
    {"Bucketize", &SameAsInput0},
    {"Cast", &PassThrough},
    {"Ceil", &SameAsInput0},
    {"CheckNumerics", &SameAsInput0},
    {"CheckNumericsV2", &SameAsInput0},
    {"ClipByValue", &ClipByValue},
    {"Complex", &BroadcastInputs01},
    {"ComplexAbs", &SameAsInput0},
    {"Conj", &SameAsInput0},
    {"Copy", &SameAsInput0},
    {"CopyHost", &SameAsInput0},
    {"Cos", &SameAsInput0},
    {"Cosh", &SameAsInput0},
    {"Cross", &SameShapeInputs},
    {"DataFormatDimMap", &SameAsInput0},
    {"DataFormatVecPermute", &SameAsInput0},
    {"Dawsn", &SameAsInput0},
    {"DebugGradientIdentity", &PassThrough},
    {"DebugGradientRefIdentity", &PassThrough},
    {"DebugIdentity", &PassThrough},
    {"DeepCopy", &SameAsInput0},
    {"Digamma", &SameAsInput0},
    {"Div", &BroadcastInputs01},
    {"DivNoNan", &BroadcastInputs01},
    {"Elu", &SameAsInput0},
    {"EluGrad", &EitherInput},
    {"Equal", &Equality},
    {"Erf", &SameAsInput0},
    {"Erfc", &SameAsInput0},
    {"Erfinv", &SameAsInput0},
    {"Exp", &SameAsInput0},
    {"Expint", &SameAsInput0},
    {"Expm1", &SameAsInput0},
    {"FakeQuantWithMinMaxArgs", &FakeQuantArgs},
    {"FakeQuantWithMinMaxArgsGradient", &EitherInput},
    {"FakeQuantWithMinMaxVars", &SameAsInput0},
    {"FakeQuantWithMinMaxVarsGradient", &FakeQuantVarsGradient},
    {"FakeQuantWithMinMaxVarsPerChannel", &SameAsInput0},
    {"FakeQuantWithMinMaxVarsPerChannelGradient", &FakeQuantPerChannelGradient},
    {"Floor", &SameAsInput0},
    {"FloorDiv", &BroadcastInputs01},
    {"FloorMod", &BroadcastInputs01},
    {"FresnelCos", &SameAsInput0},
    {"FresnelSin", &SameAsInput0},
    {"GradSum", &SameShapeInputs},
    {"Greater", &BroadcastInputs01},
    {"GreaterEqual", &BroadcastInputs01},
    {"GuaranteeConst", &PassThrough},
    {"Identity", &PassThrough},
    {"IdentityN", &PassThrough},
    {"Igamma", &BroadcastInputs01},
    {"IgammaGradA", &BroadcastInputs01},
    {"Igammac", &BroadcastInputs01},
    {"Imag", &SameAsInput0},
    {"InplaceAdd", &SameAsInput0},
    {"InplaceSub", &SameAsInput0},
    {"InplaceUpdate", &SameAsInput0},
    {"Inv", &SameAsInput0},
    {"InvGrad", &EitherInput},
    {"Invert", &SameAsInput0},
    {"IsFinite", &SameAsInput0},
    {"IsInf", &SameAsInput0},
    {"IsNan", &SameAsInput0},
    {"IsotonicRegression", &AllAsInput0},
    {"LeakyRelu", &SameAsInput0},
    {"LeakyReluGrad", &EitherInput},
    {"LeftShift", &BroadcastInputs01},
    {"Less", &BroadcastInputs01},
    {"LessEqual", &BroadcastInputs01},
    {"Lgamma", &SameAsInput0},
    {"Log", &SameAsInput0},
    {"Log1p", &SameAsInput0},
    {"LogSoftmax", &Softmax},
    {"LogicalAnd", &BroadcastInputs01},
    {"LogicalNot", &SameAsInput0},
    {"LogicalOr", &BroadcastInputs01},
    {"Maximum", &BroadcastInputs01},
    {"Minimum", &BroadcastInputs01},
    {"Mod", &BroadcastInputs01},
    {"Mul", &BroadcastInputs01},
    {"MulNoNan", &BroadcastInputs01},
    {"Ndtri", &SameAsInput0},
    {"Neg", &SameAsInput0},
    {"NextAfter", &BroadcastInputs01},
    {"NotEqual", &Equality},
    {"OnesLike", &SameAsInput0},
    {"Polygamma", &BroadcastInputs01},
    {"PopulationCount", &SameAsInput0},
    {"Pow", &BroadcastInputs01},
    {"PreventGradient", &PassThrough},
    {"Print", &PassThrough},
    {"QuantizeAndDequantize", &SameAsInput0},
    {"QuantizeAndDequantizeV2", &SameAsInput0},
    {"QuantizeAndDequantizeV3", &SameAsInput0},
    {"QuantizeAndDequantizeV4", &SameAsInput0},
    {"RandomGammaGrad", &BroadcastInputs01},
    {"Real", &SameAsInput0},
    {"RealDiv", &BroadcastInputs01},
    {"Reciprocal", &SameAsInput0},
    {"ReciprocalGrad", &EitherInput},
    {"RefIdentity", &PassThrough},
    {"Relu", &SameAsInput0},
    {"Relu6", &SameAsInput0},
    {"Relu6Grad", &SameShapeInputs},
    {"ReluGrad", &SameShapeInputs},
    {"RightShift", &BroadcastInputs01},
    {"Rint", &SameAsInput0},
    {"Round", &SameAsInput0},
    {"Rsqrt", &SameAsInput0},
    {"RsqrtGrad", &EitherInput},
    {"Select", &Select},
    {"SelectV2", &BroadcastInputs012},
    {"Selu", &SameAsInput0},
    {"SeluGrad", &EitherInput},
    {"Sigmoid", &SameAsInput0},
    {"SigmoidGrad", &EitherInput},
    {"Sign", &SameAsInput0},
    {"Sin", &SameAsInput0},
    {"Sinh", &SameAsInput0},
    {"Snapshot", &PassThrough},
    {"Softmax", &Softmax},
    {"Softplus", &SameAsInput0},
    {"SoftplusGrad", &EitherInput},
    {"Softsign", &SameAsInput0},
    {"SoftsignGrad", &EitherInput},
    {"Spence", &SameAsInput0},
    {"Sqrt", &SameAsInput0},
    {"SqrtGrad", &EitherInput},
    {"Square", &SameAsInput0},
    {"SquaredDifference", &BroadcastInputs01},
    {"StopGradient", &PassThrough},
    {"Sub", &BroadcastInputs01},
    {"Tan", &SameAsInput0},
    {"Tanh", &SameAsInput0},
    {"TanhGrad", &EitherInput},
    {"TruncateDiv", &BroadcastInputs01},
    {"TruncateMod", &BroadcastInputs01},
    {"Xdivy", &BroadcastInputs01},
    {"Xlog1py", &BroadcastInputs01},
    {"Xlogy", &BroadcastInputs01},
    {"ZerosLike", &ZerosLike},
    {"Zeta", &BroadcastInputs01},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> ElementwiseRows() { return kRows; }

}  // namespace sluice
