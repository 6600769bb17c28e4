#ifndef SLUICE_KERNELS_ELEMENT_TYPE_H_
#define SLUICE_KERNELS_ELEMENT_TYPE_H_

// What kernels ask of the C++ type of an element.

#include <complex>
#include <type_traits>

#include "graph/value/float16.h"

namespace sluice {

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <typename T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// The type that T is computed in: float for 16-bit floats.
template <typename T>
using ComputeType = std::conditional_t<kIsHalf<T>, float, T>;

// The unsigned type that integers T are computed in, so that overflow wraps: at least as wide as int.
template <typename T>
using WrapType = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

// A real number as a double.
template <typename T>
double ToDouble(T value) {
  return static_cast<double>(static_cast<ComputeType<T>>(value));
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_ELEMENT_TYPE_H_
