#ifndef SLUICE_KERNELS_DISPATCH_H_
#define SLUICE_KERNELS_DISPATCH_H_

// From a dtype at run time to a C++ type at compile time, without macros:
//
//   DispatchDType<FloatCppTypes>(dtype, [&](auto type) {
//     using T = typename decltype(type)::Type;
//     Square<T>(input.flat<T>(), output.flat<T>());
//   });

#include <complex>
#include <cstdint>

#include "graph/value/dtype.h"
#include "graph/value/float16.h"

namespace sluice {

template <typename T>
struct TypeTag {
  using Type = T;
};

template <typename... Ts>
struct TypeList {};

template <typename A, typename B>
struct JoinTypes;
template <typename... As, typename... Bs>
struct JoinTypes<TypeList<As...>, TypeList<Bs...>> {
  using Type = TypeList<As..., Bs...>;
};
template <typename A, typename B>
using Join = typename JoinTypes<A, B>::Type;

using FloatCppTypes = TypeList<float, double, Half, BFloat16>;
using ComplexCppTypes = TypeList<std::complex<float>, std::complex<double>>;
using SignedCppTypes = TypeList<int8_t, int16_t, int32_t, int64_t>;
using UnsignedCppTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t>;
using IntegerCppTypes = Join<SignedCppTypes, UnsignedCppTypes>;
using RealCppTypes = Join<FloatCppTypes, IntegerCppTypes>;
using NumberCppTypes = Join<RealCppTypes, ComplexCppTypes>;
using IndexCppTypes = TypeList<int32_t, int64_t>;

// For kernels that only move plain elements: one unsigned type per size.
struct Bytes16 {
  uint64_t words[2];
};

// Calls `call(TypeTag<T>())` for the T of the list whose dtype is `dtype`. Returns false if there is none.
template <typename... Ts, typename Call>
bool DispatchDTypeIn(TypeList<Ts...>, DType dtype, Call&& call) {
  return ((DTypeOf<Ts>::value == dtype ? (call(TypeTag<Ts>()), true) : false) || ...);
}
template <typename List, typename Call>
bool DispatchDType(DType dtype, Call&& call) {
  return DispatchDTypeIn(List(), dtype, static_cast<Call&&>(call));
}

// Calls `call(TypeTag<T>())` for an unsigned T (or Bytes16) of `size` bytes: 1, 2, 4, 8 or 16. False otherwise.
template <typename Call>
bool DispatchSize(size_t size, Call&& call) {
  switch (size) {
    case 1:
      call(TypeTag<uint8_t>());
      return true;
    case 2:
      call(TypeTag<uint16_t>());
      return true;
    case 4:
      call(TypeTag<uint32_t>());
      return true;
    case 8:
      call(TypeTag<uint64_t>());
      return true;
    case 16:
      call(TypeTag<Bytes16>());
      return true;
    default:
      return false;
  }
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_DISPATCH_H_
