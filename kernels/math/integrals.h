#ifndef SLUICE_KERNELS_MATH_INTEGRALS_H_
#define SLUICE_KERNELS_MATH_INTEGRALS_H_

// Integrals without a closed form.

namespace sluice::special {

// exp(-x^2) times the integral of exp(t^2) from 0 to x.
double Dawsn(double x);
// The integral of exp(t) / t up to x. Not a number below zero and, as in TensorFlow, at infinity; so is Spence.
double Expint(double x);
// The integrals of cos and sin of pi t^2 / 2 from 0 to x.
double FresnelCos(double x);
double FresnelSin(double x);
// The integral of log(t) / (1 - t) from 1 to x: the dilogarithm of 1 - x.
double Spence(double x);

}  // namespace sluice::special

#endif  // SLUICE_KERNELS_MATH_INTEGRALS_H_
