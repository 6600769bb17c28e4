#ifndef SLUICE_KERNELS_MATH_BESSEL_H_
#define SLUICE_KERNELS_MATH_BESSEL_H_

// Bessel functions of orders 0 and 1. J and Y swing, I grows and K falls off as exp(x) and exp(-x); those with "e" are
// free of that factor: I0e(x) = exp(-|x|) I0(x), K0e(x) = exp(x) K0(x).

namespace sluice::special {

double BesselI0(double x);
double BesselI0e(double x);
double BesselI1(double x);
double BesselI1e(double x);
double BesselJ0(double x);
double BesselJ1(double x);
// As in TensorFlow, K is infinite and Y minus infinity from zero downwards, and all but I0e, I1e and K are not a number
// at infinity.
double BesselK0(double x);
double BesselK0e(double x);
double BesselK1(double x);
double BesselK1e(double x);
double BesselY0(double x);
double BesselY1(double x);

}  // namespace sluice::special

#endif  // SLUICE_KERNELS_MATH_BESSEL_H_
