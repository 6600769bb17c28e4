#ifndef SLUICE_GRAPH_VALUE_FLOAT16_H_
#define SLUICE_GRAPH_VALUE_FLOAT16_H_

// The two 16-bit floats as plain bits with exact conversions. Inline: kernels convert whole arrays with these.

#include <cstdint>
#include <cstring>

namespace sluice {

namespace float16_internal {

inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// IEEE binary16 of `value`: nearest, ties to even; overflow gives infinity, NaN a quiet NaN with its top payload.
inline uint16_t HalfBits(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above round to infinity.
  if (magnitude >= 0x38800000u) {  // 2^-14: normal halves. The carry of the rounding may reach the exponent.
    const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
  // Subnormal: adding 0.5 puts the half's last bit at the float's last bit, so that the addition itself rounds.
  const uint32_t rounded = BitsOf(FloatOf(magnitude) + 0.5f) - 0x3f000000u;
  return static_cast<uint16_t>(sign | rounded);
}

inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) return FloatOf(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400u) return FloatOf(sign | ((magnitude << 13) + 0x38000000u));
  // Subnormal: magnitude * 2^-24, exact in a normal float.
  const float value = static_cast<float>(magnitude) * 5.9604644775390625e-08f;
  return FloatOf(sign | BitsOf(value));
}

// The upper half of `value`, rounded to nearest, ties to even; every NaN gives the default quiet one of its sign.
inline uint16_t BFloat16Bits(float value) {
  const uint32_t bits = BitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16 & 0x8000u) | 0x7fc0u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace float16_internal

// IEEE binary16, as its bits. A plain value type.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(float16_internal::HalfBits(value)) {}
  explicit operator float() const { return float16_internal::HalfToFloat(bits); }
  static Half FromBits(uint16_t bits) {
    Half half;
    half.bits = bits;
    return half;
  }
};

// The upper 16 bits of a float. A plain value type.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(float16_internal::BFloat16Bits(value)) {}
  explicit operator float() const { return float16_internal::FloatOf(static_cast<uint32_t>(bits) << 16); }
  static BFloat16 FromBits(uint16_t bits) {
    BFloat16 value;
    value.bits = bits;
    return value;
  }
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_FLOAT16_H_
