#ifndef SLUICE_KERNELS_RANDOM_BITS_TO_FLOAT_H_
#define SLUICE_KERNELS_RANDOM_BITS_TO_FLOAT_H_

// From random bits to numbers of [0, 1): the bits become the fraction of a number of [1, 2), and 1 is taken away.

#include <cstdint>
#include <cstring>

#include "graph/value/float16.h"

namespace sluice {

inline float BitsToFloat(uint32_t bits) {
  const uint32_t word = (bits & 0x7fffffu) | uint32_t{127} << 23;
  float number;
  std::memcpy(&number, &word, sizeof(number));
  return number - 1.0f;
}

// `high` gives the upper 20 of the 52 bits.
inline double BitsToDouble(uint32_t high, uint32_t low) {
  const uint64_t word = uint64_t{high & 0xfffffu} << 32 | low | uint64_t{1023} << 52;
  double number;
  std::memcpy(&number, &word, sizeof(number));
  return number - 1.0;
}

inline Half BitsToHalf(uint32_t bits) {
  return Half(static_cast<float>(Half::FromBits(static_cast<uint16_t>((bits & 0x3ffu) | 15u << 10))) - 1.0f);
}

inline BFloat16 BitsToBFloat16(uint32_t bits) {
  return BFloat16(static_cast<float>(BFloat16::FromBits(static_cast<uint16_t>((bits & 0x7fu) | 127u << 7))) - 1.0f);
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_BITS_TO_FLOAT_H_
