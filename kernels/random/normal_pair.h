#ifndef SLUICE_KERNELS_RANDOM_NORMAL_PAIR_H_
#define SLUICE_KERNELS_RANDOM_NORMAL_PAIR_H_

// Two standard normal numbers from two uniform ones (Box and Muller, 1958), in the roundings of TensorFlow.

#include <math.h>  // sincos, which <cmath> does not have.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/random/bits_to_float.h"

namespace sluice {

inline void NormalPair(uint32_t bits0, uint32_t bits1, float* pair) {
  const float radius = std::sqrt(-2.0f * std::log(std::max(BitsToFloat(bits0), 1.0e-7f)));
  const float angle = static_cast<float>(2.0 * M_PI * static_cast<double>(BitsToFloat(bits1)));
  float sine, cosine;
  sincosf(angle, &sine, &cosine);
  pair[0] = sine * radius;
  pair[1] = cosine * radius;
}

inline void NormalPair(uint32_t bits0, uint32_t bits1, uint32_t bits2, uint32_t bits3, double* pair) {
  const double radius = std::sqrt(-2.0 * std::log(std::max(BitsToDouble(bits0, bits1), 1.0e-7)));
  double sine, cosine;
  sincos(2.0 * M_PI * BitsToDouble(bits2, bits3), &sine, &cosine);
  pair[0] = sine * radius;
  pair[1] = cosine * radius;
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_NORMAL_PAIR_H_
