#ifndef SLUICE_KERNELS_OPTIMIZERS_ROUNDED_H_
#define SLUICE_KERNELS_OPTIMIZERS_ROUNDED_H_

#include <cmath>
#include <cstdint>

#include "graph/value/float16.h"

namespace sluice {

// How floats are rounded to numbers of 16 bits. A value type.
struct Rounding {
  int32_t dropped_bits;    // Of a float's mantissa.
  int32_t normal_begin;    // Bits of the smallest magnitude that the type holds with all its own mantissa.
  int32_t infinity_begin;  // Bits of the smallest magnitude that becomes infinite.
  // Whether the root within 1/sqrt(x) is rounded, too. TensorFlow's library does that for elements after the last
  // multiple of kVectorSize, which it computes one by one.
  bool rounds_inner_root = false;
};
inline constexpr int64_t kVectorSize = 8;
inline constexpr Rounding kHalfRounding{13, 0x38800000, 0x477ff000};
inline constexpr Rounding kBFloat16Rounding{16, 0, 0x7f800000};

// The nearest float that a half or a bfloat16 holds, ties to even: what both conversions, one after the other, would
// give, without branches, so that loops are vectorised. A NaN stays one.
[[gnu::always_inline]] inline float RoundTo(float value, Rounding rounding) {
  const uint32_t bits = float16_internal::BitsOf(value);
  const int32_t magnitude = static_cast<int32_t>(bits & 0x7fffffffu);
  const int32_t last = int32_t{1} << rounding.dropped_bits;
  const int32_t normal = (magnitude + (last / 2 - 1) + (magnitude >> rounding.dropped_bits & 1)) & -last;
  // Of a half below the normal ones: the last bit of 0.5 + x is that of the half.
  const float sum = float16_internal::FloatOf(static_cast<uint32_t>(magnitude)) + 0.5f;
  const int32_t small = static_cast<int32_t>(float16_internal::BitsOf(sum - 0.5f));
  int32_t rounded = magnitude < rounding.normal_begin ? small : normal;
  rounded = magnitude >= rounding.infinity_begin ? 0x7f800000 : rounded;
  rounded = magnitude > 0x7f800000 ? magnitude : rounded;
  return float16_internal::FloatOf((bits & 0x80000000u) | static_cast<uint32_t>(rounded));
}

// A number of 16 bits that is computed with as TensorFlow's library does: in float, rounded after each operation. One
// type for half and bfloat16, so that loops over both are compiled once. A value type.
class Rounded {
 public:
  Rounded() = default;
  [[gnu::always_inline]] Rounded(float value, Rounding rounding) : value_(value), rounding_(rounding) {}

  [[gnu::always_inline]] float value() const { return value_; }
  // The result of an operation on this and others.
  [[gnu::always_inline]] Rounded Result(float value) const { return {RoundTo(value, rounding_), rounding_}; }

  [[gnu::always_inline]] Rounded ReciprocalRoot() const {
    const float root = std::sqrt(value_);
    return Result(1.0f / (rounding_.rounds_inner_root ? RoundTo(root, rounding_) : root));
  }

  [[gnu::always_inline]] friend Rounded operator+(Rounded a, Rounded b) { return a.Result(a.value_ + b.value_); }
  [[gnu::always_inline]] friend Rounded operator-(Rounded a, Rounded b) { return a.Result(a.value_ - b.value_); }
  [[gnu::always_inline]] friend Rounded operator*(Rounded a, Rounded b) { return a.Result(a.value_ * b.value_); }
  [[gnu::always_inline]] friend Rounded operator/(Rounded a, Rounded b) { return a.Result(a.value_ / b.value_); }
  [[gnu::always_inline]] friend Rounded operator-(Rounded a) { return {-a.value_, a.rounding_}; }
  [[gnu::always_inline]] friend bool operator<(Rounded a, Rounded b) { return a.value_ < b.value_; }

 private:
  float value_ = 0;
  Rounding rounding_ = kHalfRounding;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_OPTIMIZERS_ROUNDED_H_
