#ifndef SLUICE_KERNELS_MATH_LOOPS_H_
#define SLUICE_KERNELS_MATH_LOOPS_H_

// Straight loops over elements, made from functors (Note [Functors]) and called through pointers, so that the code that
// checks shapes, broadcasts and shards is compiled once for all ops and dtypes.

#include <cstdint>

#include "kernels/math/functor.h"

// The iterations of the loop that follows do not depend on each other, though the output may be one of the inputs.
#if defined(__clang__)
#define SLUICE_INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define SLUICE_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#endif

namespace sluice {

// out[i] = op(x[i]). `out` may be `x`.
using UnaryLoop = void (*)(const void* x, void* out, int64_t n);
// out[i] = op(a[i], b[i]), or with one element of `a` or `b` for all. False when an element has no result.
// `out` may be `a` or `b`.
using BinaryLoop = bool (*)(const void* a, const void* b, void* out, int64_t n);

// One unary op for one dtype. Constant data.
struct UnaryLoops {
  UnaryLoop loop = nullptr;
  uint8_t in_size = 0;  // Bytes of an element.
  uint8_t out_size = 0;
  float unit_ns = 0;
};

// One binary op for one dtype. Constant data.
struct BinaryLoops {
  BinaryLoop both = nullptr;
  BinaryLoop repeat_a = nullptr;
  BinaryLoop repeat_b = nullptr;
  uint8_t in_size = 0;
  uint8_t out_size = 0;
  Failure failure = Failure::kNone;
  float unit_ns = 0;
};

// The instruction set that a file is compiled for: keeps the functions of those files apart.
struct BaseIsa {};
struct Avx2Isa {};
struct Avx512Isa {};

template <typename Op, typename T, typename Isa>
void LoopUnary(const void* x_data, void* out_data, int64_t n) {
  const T* x = static_cast<const T*>(x_data);
  auto* out = static_cast<UnaryResult<Op, T>*>(out_data);
  SLUICE_INDEPENDENT_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = InvokeUnary<Op, T>(x[i]);
}

template <typename Op, typename T, typename Isa>
bool LoopBinary(const void* a_data, const void* b_data, void* out_data, int64_t n) {
  const T* a = static_cast<const T*>(a_data);
  const T* b = static_cast<const T*>(b_data);
  auto* out = static_cast<BinaryResult<Op, T>*>(out_data);
  bool ok = true;
  SLUICE_INDEPENDENT_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = InvokeBinary<Op, T>(a[i], b[i], ok);
  return ok;
}

template <typename Op, typename T, typename Isa>
bool LoopRepeatA(const void* a_data, const void* b_data, void* out_data, int64_t n) {
  const T a = *static_cast<const T*>(a_data);
  const T* b = static_cast<const T*>(b_data);
  auto* out = static_cast<BinaryResult<Op, T>*>(out_data);
  bool ok = true;
  SLUICE_INDEPENDENT_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = InvokeBinary<Op, T>(a, b[i], ok);
  return ok;
}

template <typename Op, typename T, typename Isa>
bool LoopRepeatB(const void* a_data, const void* b_data, void* out_data, int64_t n) {
  const T* a = static_cast<const T*>(a_data);
  const T b = *static_cast<const T*>(b_data);
  auto* out = static_cast<BinaryResult<Op, T>*>(out_data);
  bool ok = true;
  SLUICE_INDEPENDENT_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = InvokeBinary<Op, T>(a[i], b, ok);
  return ok;
}

template <typename Op, typename T, typename Isa>
inline constexpr UnaryLoops kUnaryLoops = {&LoopUnary<Op, T, Isa>, sizeof(T), sizeof(UnaryResult<Op, T>),
                                           kUnitNsOf<Op>};

template <typename Op, typename T, typename Isa>
inline constexpr BinaryLoops kBinaryLoops = {&LoopBinary<Op, T, Isa>,
                                             &LoopRepeatA<Op, T, Isa>,
                                             &LoopRepeatB<Op, T, Isa>,
                                             sizeof(T),
                                             sizeof(BinaryResult<Op, T>),
                                             kCanFail<Op, T> ? kFailureOf<Op> : Failure::kNone,
                                             kUnitNsOf<Op>};

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_LOOPS_H_
