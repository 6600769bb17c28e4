#ifndef SLUICE_KERNELS_SEQUENCE_LOG_SUM_H_
#define SLUICE_KERNELS_SEQUENCE_LOG_SUM_H_

// Sums of probabilities that are kept as logarithms.

#include <cmath>
#include <limits>

namespace sluice {

// The logarithm of 0.
template <typename T>
constexpr T kLogZero = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b)), without the overflow.
template <typename T>
T LogSum(T a, T b) {
  if (a == kLogZero<T>) return b;
  if (b == kLogZero<T>) return a;
  return a > b ? a + std::log1p(std::exp(b - a)) : b + std::log1p(std::exp(a - b));
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_SEQUENCE_LOG_SUM_H_
