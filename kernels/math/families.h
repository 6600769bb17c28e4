#ifndef SLUICE_KERNELS_MATH_FAMILIES_H_
#define SLUICE_KERNELS_MATH_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Relu and its kin, Tanh, Sigmoid, Softplus; LeakyReluGrad.
absl::Span<const KernelRow> ActivationKernels();
// AddN, AccumulateNV2 and GradSum.
absl::Span<const KernelRow> AddNKernels();
// Sums, differences, products, quotients of floats, extremes, and strings put together: Add, AddV2, Sub, Mul, ...
absl::Span<const KernelRow> ArithmeticKernels();
// BiasAdd, BiasAddV1. Their gradient, a sum, is in kernels/reduce.
absl::Span<const KernelRow> BiasKernels();
// Bitcast.
absl::Span<const KernelRow> BitcastKernels();
// Of shapes as values: BroadcastArgs, BroadcastGradientArgs.
absl::Span<const KernelRow> BroadcastArgsKernels();
// Bucketize.
absl::Span<const KernelRow> BucketizeKernels();
// Cast and Bitcast.
absl::Span<const KernelRow> CastKernels();
// CheckNumerics and CheckNumericsV2.
absl::Span<const KernelRow> CheckNumericsKernels();
// Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual, ApproximateEqual.
absl::Span<const KernelRow> ComparisonKernels();
// Between complex numbers and their parts: Complex, Real, Imag, Conj, Angle, ComplexAbs.
absl::Span<const KernelRow> ComplexPartsKernels();
// Quotients and remainders: Div, RealDiv, TruncateDiv, FloorDiv, Mod, FloorMod, TruncateMod, DivNoNan.
absl::Span<const KernelRow> DivisionKernels();
// Gradient ops that are one formula per element: ReluGrad, TanhGrad, SqrtGrad, ...
absl::Span<const KernelRow> GradientKernels();
// Of bools and bits: LogicalAnd, LogicalOr, LogicalNot, BitwiseAnd, Invert, LeftShift, PopulationCount, ...
absl::Span<const KernelRow> LogicKernels();
// Pow, Atan2, NextAfter, Xdivy, Xlogy, Xlog1py.
absl::Span<const KernelRow> PowerKernels();
// Select, SelectV2 and ClipByValue.
absl::Span<const KernelRow> SelectKernels();
// Softmax and LogSoftmax.
absl::Span<const KernelRow> SoftmaxKernels();
// Special functions: Erf, Erfinv, Lgamma, Digamma, Igamma, Zeta, Polygamma, Betainc, ...
absl::Span<const KernelRow> SpecialKernels();
// Sin, Cos, Tan, their hyperbolic forms, and the inverses of all.
absl::Span<const KernelRow> TrigonometryKernels();
// Ops of one input whose result has its dtype: Abs, Neg, Square, Sqrt, Exp, Log, Floor, Round, ...
absl::Span<const KernelRow> UnaryKernels();
// Cross.
absl::Span<const KernelRow> CrossKernels();
// HistogramFixedWidth.
absl::Span<const KernelRow> HistogramKernels();

// Adds all of them.
void AddMathKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_FAMILIES_H_
