#ifndef SLUICE_KERNELS_MATH_FLOAT_LOOPS_H_
#define SLUICE_KERNELS_MATH_FLOAT_LOOPS_H_

// Loops over floats for the instruction set of this machine.
//
// Note [Instruction sets]
// The functors below are compiled three times: for the base of all our code (x86-64-v2), for AVX2 with FMA and for
// AVX-512 (float_loops_{base,avx2,avx512}.cc). BestFloatLoops picks one table, once. All other dtypes and functors
// have loops of the base set only.

#include <type_traits>

#include "kernels/dispatch.h"
#include "kernels/math/activation_ops.h"
#include "kernels/math/arithmetic_ops.h"
#include "kernels/math/float_ops.h"
#include "kernels/math/loops.h"
#include "kernels/math/softmax_rows.h"

namespace sluice {

using FloatUnaryOps =
    TypeList<AbsOp, NegOp, SquareOp, SqrtOp, RsqrtOp, ReciprocalOp, ExpOp, Expm1Op, LogOp, Log1pOp, TanhOp, SigmoidOp,
             ErfOp, ErfcOp, FloorOp, CeilOp, RintOp, ReluOp, Relu6Op, EluOp, SeluOp, SoftplusOp, SoftsignOp>;
using FloatBinaryOps =
    TypeList<AddOp, SubOp, MulOp, DivOp, MaximumOp, MinimumOp, SquaredDifferenceOp, DivNoNanOp, LessOp, LessEqualOp,
             EqualOp, NotEqualOp, ReluGradOp, LeakyReluOp, TanhGradOp, SigmoidGradOp>;

// Position of Op in a TypeList, or -1.
template <typename Op, typename... Ops>
constexpr int IndexIn(TypeList<Ops...>) {
  int index = 0;
  const bool is_found = ((std::is_same<Op, Ops>::value || (++index, false)) || ...);
  return is_found ? index : -1;
}
template <typename... Ops>
constexpr int SizeOf(TypeList<Ops...>) {
  return sizeof...(Ops);
}

// All of them for one instruction set. Constant data.
struct FloatLoops {
  const char* isa;
  UnaryLoops unary[SizeOf(FloatUnaryOps())];
  BinaryLoops binary[SizeOf(FloatBinaryOps())];
  void (*softmax)(const float* x, float* out, int64_t n);
  void (*log_softmax)(const float* x, float* out, int64_t n);
};

template <typename Isa, typename... Unary, typename... Binary>
constexpr FloatLoops MakeFloatLoops(const char* isa, TypeList<Unary...>, TypeList<Binary...>) {
  return {isa,
          {kUnaryLoops<Unary, float, Isa>...},
          {kBinaryLoops<Binary, float, Isa>...},
          &SoftmaxRow<Isa>,
          &LogSoftmaxRow<Isa>};
}

extern const FloatLoops kBaseFloatLoops;
extern const FloatLoops kAvx2FloatLoops;
extern const FloatLoops kAvx512FloatLoops;

// The best that this machine can run.
const FloatLoops& BestFloatLoops();

// The loops of Op for T.
template <typename Op, typename T>
const UnaryLoops& UnaryLoopsFor() {
  constexpr int kIndex = std::is_same<T, float>::value ? IndexIn<Op>(FloatUnaryOps()) : -1;
  if constexpr (kIndex >= 0) {
    return BestFloatLoops().unary[kIndex];
  } else {
    return kUnaryLoops<Op, T, BaseIsa>;
  }
}
template <typename Op, typename T>
const BinaryLoops& BinaryLoopsFor() {
  constexpr int kIndex = std::is_same<T, float>::value ? IndexIn<Op>(FloatBinaryOps()) : -1;
  if constexpr (kIndex >= 0) {
    return BestFloatLoops().binary[kIndex];
  } else {
    return kBinaryLoops<Op, T, BaseIsa>;
  }
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_FLOAT_LOOPS_H_
