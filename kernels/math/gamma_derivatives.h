#ifndef SLUICE_KERNELS_MATH_GAMMA_DERIVATIVES_H_
#define SLUICE_KERNELS_MATH_GAMMA_DERIVATIVES_H_

// Derivatives by the parameter of a gamma distribution, with relative errors of about 1e-12. Pure functions.

namespace sluice {
namespace special {

// By how much Igamma(a, x) grows with a, for a > 0 and x >= 0; NaN elsewhere.
double IgammaGradA(double a, double x);
// By how much the number x, drawn from the gamma distribution of parameter a, grows with a where the probability of
// smaller numbers stays; NaN unless a > 0 and x >= 0.
double GammaSampleGrad(double a, double x);

}  // namespace special
}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_GAMMA_DERIVATIVES_H_
