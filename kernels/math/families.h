#ifndef SLUICE_KERNELS_MATH_FAMILIES_H_
#define SLUICE_KERNELS_MATH_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Relu and its kin, Tanh, Sigmoid, Softplus; LeakyReluGrad.
SLUICE_AT_START absl::Span<const KernelRow> ActivationKernels();
// AddN, AccumulateNV2 and GradSum.
SLUICE_AT_START absl::Span<const KernelRow> AddNKernels();
// Sums, differences, products, quotients of floats, extremes, and strings put together: Add, AddV2, Sub, Mul, ...
SLUICE_AT_START absl::Span<const KernelRow> ArithmeticKernels();
// BiasAdd, BiasAddV1. Their gradient, a sum, is in kernels/reduce.
SLUICE_AT_START absl::Span<const KernelRow> BiasKernels();
// Bitcast.
SLUICE_AT_START absl::Span<const KernelRow> BitcastKernels();
// Of shapes as values: BroadcastArgs, BroadcastGradientArgs.
SLUICE_AT_START absl::Span<const KernelRow> BroadcastArgsKernels();
// Bucketize.
SLUICE_AT_START absl::Span<const KernelRow> BucketizeKernels();
// Cast and Bitcast.
SLUICE_AT_START absl::Span<const KernelRow> CastKernels();
// CheckNumerics and CheckNumericsV2.
SLUICE_AT_START absl::Span<const KernelRow> CheckNumericsKernels();
// Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual, ApproximateEqual.
SLUICE_AT_START absl::Span<const KernelRow> ComparisonKernels();
// Between complex numbers and their parts: Complex, Real, Imag, Conj, Angle, ComplexAbs.
SLUICE_AT_START absl::Span<const KernelRow> ComplexPartsKernels();
// Quotients and remainders: Div, RealDiv, TruncateDiv, FloorDiv, Mod, FloorMod, TruncateMod, DivNoNan.
SLUICE_AT_START absl::Span<const KernelRow> DivisionKernels();
// Gradient ops that are one formula per element: ReluGrad, TanhGrad, SqrtGrad, ...
SLUICE_AT_START absl::Span<const KernelRow> GradientKernels();
// Of bools and bits: LogicalAnd, LogicalOr, LogicalNot, BitwiseAnd, Invert, LeftShift, PopulationCount, ...
SLUICE_AT_START absl::Span<const KernelRow> LogicKernels();
// Pow, Atan2, NextAfter, Xdivy, Xlogy, Xlog1py.
SLUICE_AT_START absl::Span<const KernelRow> PowerKernels();
// Select, SelectV2 and ClipByValue.
SLUICE_AT_START absl::Span<const KernelRow> SelectKernels();
// Softmax and LogSoftmax.
SLUICE_AT_START absl::Span<const KernelRow> SoftmaxKernels();
// Special functions: Erf, Erfinv, Lgamma, Digamma, Igamma, Zeta, Polygamma, Betainc, ...
SLUICE_AT_START absl::Span<const KernelRow> SpecialKernels();
// Sin, Cos, Tan, their hyperbolic forms, and the inverses of all.
SLUICE_AT_START absl::Span<const KernelRow> TrigonometryKernels();
// Ops of one input whose result has its dtype: Abs, Neg, Square, Sqrt, Exp, Log, Floor, Round, ...
SLUICE_AT_START absl::Span<const KernelRow> UnaryKernels();
// Cross.
SLUICE_AT_START absl::Span<const KernelRow> CrossKernels();
// HistogramFixedWidth.
SLUICE_AT_START absl::Span<const KernelRow> HistogramKernels();

// Adds all of them.
SLUICE_AT_START void AddMathKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_FAMILIES_H_
