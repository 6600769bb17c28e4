#ifndef SLUICE_KERNELS_SPARSE_WIDE_TYPE_H_
#define SLUICE_KERNELS_SPARSE_WIDE_TYPE_H_

#include <type_traits>

#include "graph/value/float16.h"
#include "kernels/dispatch.h"
#include "kernels/element_type.h"

namespace sluice {

// The type in which elements of T are added, multiplied and compared: 16-bit floats as float, integers without a sign,
// so that they wrap, others as themselves.
template <typename T, typename = void>
struct WideType {
  using Type = ComputeType<T>;
};
template <typename T>
struct WideType<T, std::enable_if_t<std::is_integral<T>::value && std::is_signed<T>::value>> {
  using Type = std::make_unsigned_t<T>;
};
template <typename T>
using Wide = typename WideType<T>::Type;

// The types by which sums and products of all numbers are computed: integers of one size are one type.
using SumCppTypes = Join<Join<FloatCppTypes, ComplexCppTypes>, UnsignedCppTypes>;

// `dtype`, or the unsigned integer of its size where it is a signed one.
inline DType AsUnsigned(DType dtype) {
  DType made = dtype;
  DispatchDType<SignedCppTypes>(
      dtype, [&](auto type) { made = DTypeOf<std::make_unsigned_t<typename decltype(type)::Type>>::value; });
  return made;
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_SPARSE_WIDE_TYPE_H_
