#ifndef SLUICE_KERNELS_MATH_SPECIAL_FUNCTIONS_H_
#define SLUICE_KERNELS_MATH_SPECIAL_FUNCTIONS_H_

// Special functions of doubles, with relative errors of about 1e-13 away from their zeros. Pure functions; what they
// give outside of their domains is TensorFlow's answer.

namespace sluice {
namespace special {

// log |gamma(x)|; infinity at 0, -1, -2, ... and both infinities.
double Lgamma(double x);
// The derivative of Lgamma; NaN at 0, -1, -2, ... and -infinity.
double Digamma(double x);
// The y with erf(y) = x; NaN outside of [-1, 1].
double Erfinv(double x);
// The y below which a standard normal number is with probability p; NaN outside of [0, 1].
double Ndtri(double p);
// The regularized incomplete gamma functions, lower and upper, of a > 0 and x >= 0; NaN elsewhere, but Igamma(a, 0) =
// 0.
double Igamma(double a, double x);
double Igammac(double a, double x);
// The sum of (q + k)^-x over k = 0, 1, ...: infinity for x = 1 and NaN below; for q <= 0 an infinity at whole q if x is
// even, else NaN, and NaN unless x is whole.
double Zeta(double x, double q);
// The derivative of order n of Digamma; NaN unless n is 0, 1, 2, ...
double Polygamma(double n, double x);
// The regularized incomplete beta function of a, b > 0 and 0 <= x <= 1; NaN elsewhere.
double Betainc(double a, double b, double x);

}  // namespace special
}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_SPECIAL_FUNCTIONS_H_
