#ifndef SLUICE_KERNELS_MATH_FLOAT_MATH_H_
#define SLUICE_KERNELS_MATH_FLOAT_MATH_H_

// Elementary functions of floats without branches or tables, so that loops over them become vector code. Errors are
// one to three units in the last place, as float_math_test shows. Denormal arguments count as zero (kernels run so).
// Inlined always: see Note [Functors]. The polynomials were fitted for this file (weighted minimax, by Lawson's
// iteration).

#include <cstdint>

namespace sluice {
namespace float_math {

[[gnu::always_inline]] inline float MulAdd(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

[[gnu::always_inline]] inline int32_t BitsOf(float x) { return __builtin_bit_cast(int32_t, x); }
[[gnu::always_inline]] inline float FloatOf(int32_t bits) { return __builtin_bit_cast(float, bits); }
// n * 2^23, wrapping: what NaN makes of n does not matter.
[[gnu::always_inline]] inline int32_t ShiftToExponent(int32_t n) {
  return static_cast<int32_t>(static_cast<uint32_t>(n) << 23);
}
// a - b, wrapping.
[[gnu::always_inline]] inline int32_t SubtractBits(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}
// 2^n for -126 <= n <= 127.
[[gnu::always_inline]] inline float PowerOfTwo(int32_t n) { return FloatOf(ShiftToExponent(n + 127)); }

inline constexpr float kInfinity = __builtin_inff();
inline constexpr float kNan = __builtin_nanf("");
inline constexpr float kSmallestNormal = 0x1p-126f;

// x = n ln2 + r with |r| <= ln2/2, and p = (exp(r) - 1 - r). REQUIRES: |x| < 2^20 or NaN (then p is NaN).
struct ExpParts {
  int32_t n;
  float r;
  float p;
};
[[gnu::always_inline]] inline ExpParts SplitExp(float x) {
  constexpr float kShift = 0x1.8p23f;  // Adding it leaves the rounded number in the low bits.
  const float shifted = MulAdd(x, 0x1.715476p0f, kShift);
  const float n = shifted - kShift;
  float r = MulAdd(n, -0.693359375f, x);  // The upper part of ln2 has 9 bits, so that the product is exact.
  r = MulAdd(n, 2.12194440e-4f, r);
  float q = MulAdd(r, 1.99136332e-4f, 1.39410639e-3f);
  q = MulAdd(q, r, 8.33327404e-3f);
  q = MulAdd(q, r, 4.16663539e-2f);
  q = MulAdd(q, r, 0.166666668f);
  q = MulAdd(q, r, 0.5f);
  return {SubtractBits(BitsOf(shifted), BitsOf(kShift)), r, q * r * r};
}

[[gnu::always_inline]] inline float Exp(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -110.0f ? -110.0f : x;
  const ExpParts parts = SplitExp(x);
  const int32_t half = parts.n >> 1;
  return (1.0f + (parts.r + parts.p)) * PowerOfTwo(half) * PowerOfTwo(parts.n - half);
}

// exp(x) - 1, without loss near 0.
[[gnu::always_inline]] inline float Expm1(float x) {
  const float clamped = x > 89.0f ? 89.0f : x < -30.0f ? -30.0f : x;
  const ExpParts parts = SplitExp(clamped);
  const float half_scale = PowerOfTwo(parts.n - 1);  // n is 128 just below overflow.
  const float y = (half_scale * parts.p + (half_scale * parts.r + (half_scale - 0.5f))) * 2.0f;
  return __builtin_fabsf(x) < 1e-30f ? x : y;  // Half of the least normal numbers would be flushed to 0.
}

// log(1 + f) for sqrt(1/2) <= 1 + f <= sqrt(2), plus e ln2.
[[gnu::always_inline]] inline float LogOfParts(float f, float e) {
  const float square = f * f;
  float p = MulAdd(f, 0.0691536807f, -0.117898077f);
  p = MulAdd(p, f, 0.118729763f);
  p = MulAdd(p, f, -0.123843485f);
  p = MulAdd(p, f, 0.142186581f);
  p = MulAdd(p, f, -0.166692508f);
  p = MulAdd(p, f, 0.200022266f);
  p = MulAdd(p, f, -0.249999866f);
  p = MulAdd(p, f, 0.333333104f);
  float y = p * f * square;
  y = MulAdd(e, -2.12194440e-4f, y);
  y = MulAdd(-0.5f, square, y);
  return MulAdd(e, 0.693359375f, f + y);
}

[[gnu::always_inline]] inline float Log(float x) {
  constexpr int32_t kSqrtHalf = 0x3f3504f3;
  const int32_t bits = BitsOf(x);
  const int32_t e = SubtractBits(bits, kSqrtHalf) >> 23;
  const float mantissa = FloatOf(SubtractBits(bits, ShiftToExponent(e)));
  float y = LogOfParts(mantissa - 1.0f, static_cast<float>(e));
  y = x < kSmallestNormal ? -kInfinity : y;
  y = x <= -kSmallestNormal ? kNan : y;
  return x < kInfinity ? y : x;  // Infinity and NaN.
}

// log(1 + x), without loss near 0.
[[gnu::always_inline]] inline float Log1p(float x) {
  const float u = 1.0f + x;
  const float lost = (x - (u - 1.0f)) / u;
  const float y = Log(u) + lost;
  return u == 1.0f || u == 0.0f || !(u < kInfinity) ? (u == 1.0f ? x : Log(u)) : y;
}

[[gnu::always_inline]] inline float Tanh(float x) {
  const float clamped = x > 10.0f ? 10.0f : x < -10.0f ? -10.0f : x;
  const float e = Expm1(2.0f * clamped);
  const float y = e / (e + 2.0f);
  return x == 0.0f ? x : y;
}

[[gnu::always_inline]] inline float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }

// exp(-x*x), with the rounding error of the square made good.
[[gnu::always_inline]] inline float ExpOfMinusSquare(float x) {
  const float square = x * x;
#ifdef __FMA__
  const float lost = __builtin_fmaf(x, x, -square);
#else
  const float high = FloatOf(BitsOf(x) & ~0xfff);
  const float low = x - high;
  const float lost = ((high * high - square) + 2.0f * high * low) + low * low;
#endif
  return Exp(-square) * (1.0f - lost);
}

// erfc(a) for a >= 0.
[[gnu::always_inline]] inline float ErfcOfPositive(float a) {
  a = a > 10.1f ? 10.1f : a;
  const float t = (a - 3.0f) / (a + 3.0f);
  float p = MulAdd(t, -2.66995407e-4f, -7.75131532e-4f);
  p = MulAdd(p, t, 2.00274588e-3f);
  p = MulAdd(p, t, 2.56630092e-3f);
  p = MulAdd(p, t, -0.0237981929f);
  p = MulAdd(p, t, 0.0682959002f);
  p = MulAdd(p, t, -0.11927087f);
  p = MulAdd(p, t, 0.12964641f);
  p = MulAdd(p, t, -0.0475624035f);
  p = MulAdd(p, t, -0.135621139f);
  p = MulAdd(p, t, 1.25300806f);
  return ExpOfMinusSquare(a) * p / (1.0f + 2.0f * a);
}

// erf(x) for |x| <= 1.
[[gnu::always_inline]] inline float ErfOfSmall(float x) {
  const float s = x * x;
  float p = MulAdd(s, 7.88911953e-5f, -8.02084128e-4f);
  p = MulAdd(p, s, 5.18953534e-3f);
  p = MulAdd(p, s, -0.0268544446f);
  p = MulAdd(p, s, 0.112836002f);
  p = MulAdd(p, s, -0.376126271f);
  p = MulAdd(p, s, 1.12837917f);
  return x * p;
}

[[gnu::always_inline]] inline float Erf(float x) {
  const float a = __builtin_fabsf(x);
  const float tail = 1.0f - ErfcOfPositive(a);
  return a < 1.0f ? ErfOfSmall(x) : __builtin_copysignf(tail, x);
}

[[gnu::always_inline]] inline float Erfc(float x) {
  const float a = __builtin_fabsf(x);
  const float tail = ErfcOfPositive(a);
  const float y = x < 0.0f ? 2.0f - tail : tail;
  const float result = a < 0.5f ? 1.0f - ErfOfSmall(x) : y;
  // Of two NaNs in one product the compiler chooses, in each loop anew.
  return x != x ? x : result;
}

// log(1 + exp(x)).
[[gnu::always_inline]] inline float Softplus(float x) {
  const float tail = Log1p(Exp(-__builtin_fabsf(x)));
  const float y = (x > 0.0f ? x : 0.0f) + tail;
  return x != x ? x : y;
}

}  // namespace float_math
}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_FLOAT_MATH_H_
