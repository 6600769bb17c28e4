#ifndef SLUICE_KERNELS_RANDOM_ROUNDED_HALF_H_
#define SLUICE_KERNELS_RANDOM_ROUNDED_HALF_H_

#include <cmath>

#include "graph/value/float16.h"

namespace sluice {

// A half to calculate with: every result is rounded to half, as TensorFlow's are. A small value.
class RoundedHalf {
 public:
  RoundedHalf() = default;
  explicit RoundedHalf(float value) : value_(static_cast<float>(Half(value))) {}
  explicit RoundedHalf(double value) : RoundedHalf(static_cast<float>(value)) {}
  explicit RoundedHalf(Half value) : value_(static_cast<float>(value)) {}
  explicit operator float() const { return value_; }
  explicit operator Half() const { return Half(value_); }

  friend RoundedHalf operator+(RoundedHalf a, RoundedHalf b) { return RoundedHalf(a.value_ + b.value_); }
  friend RoundedHalf operator-(RoundedHalf a, RoundedHalf b) { return RoundedHalf(a.value_ - b.value_); }
  friend RoundedHalf operator*(RoundedHalf a, RoundedHalf b) { return RoundedHalf(a.value_ * b.value_); }
  friend RoundedHalf operator/(RoundedHalf a, RoundedHalf b) { return RoundedHalf(a.value_ / b.value_); }
  RoundedHalf operator-() const { return RoundedHalf(-value_); }
  friend bool operator<(RoundedHalf a, RoundedHalf b) { return a.value_ < b.value_; }
  friend bool operator>(RoundedHalf a, RoundedHalf b) { return a.value_ > b.value_; }
  friend bool operator<=(RoundedHalf a, RoundedHalf b) { return a.value_ <= b.value_; }
  friend bool operator>=(RoundedHalf a, RoundedHalf b) { return a.value_ >= b.value_; }

 private:
  float value_ = 0.0f;
};

inline RoundedHalf sqrt(RoundedHalf x) { return RoundedHalf(std::sqrt(static_cast<float>(x))); }
inline RoundedHalf exp(RoundedHalf x) { return RoundedHalf(std::exp(static_cast<float>(x))); }
inline RoundedHalf log(RoundedHalf x) { return RoundedHalf(std::log(static_cast<float>(x))); }
inline bool isfinite(RoundedHalf x) { return std::isfinite(static_cast<float>(x)); }
inline bool isinf(RoundedHalf x) { return std::isinf(static_cast<float>(x)); }

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_ROUNDED_HALF_H_
