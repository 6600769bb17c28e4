#ifndef SLUICE_KERNELS_ARRAY_MOVED_TYPES_H_
#define SLUICE_KERNELS_ARRAY_MOVED_TYPES_H_

// Elements that a kernel moves without looking at them.

#include <type_traits>

#include "graph/value/resource_handle.h"
#include "graph/value/tensor.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "kernels/dispatch.h"

namespace sluice {

// Calls `call(TypeTag<T>())` with the T by which elements of `dtype` are copied: an unsigned integer (or Bytes16) of
// their size when they are plain, TString, ResourceHandle or Variant otherwise. Assigning a T is right for all of them.
// REQUIRES: IsSupported(dtype).
template <typename Call>
void DispatchMoved(DType dtype, Call&& call) {
  switch (dtype) {
    case DType::kString:
      call(TypeTag<TString>());
      return;
    case DType::kResource:
      call(TypeTag<ResourceHandle>());
      return;
    case DType::kVariant:
      call(TypeTag<Variant>());
      return;
    default:
      DispatchSize(DTypeSize(dtype), static_cast<Call&&>(call));
  }
}

// Time to move one T, in ns, with neighbours moved, too: for KernelContext::ParallelFor.
template <typename T>
inline constexpr double kMoveNs = std::is_trivially_copyable<T>::value ? 0.1 * static_cast<double>(sizeof(T)) : 20.0;

// The elements as Ts of DispatchMoved, whatever their dtype. REQUIRES: elements of sizeof(T).
template <typename T>
const T* Elements(const Tensor& tensor) {
  return static_cast<const T*>(tensor.raw_data());
}
template <typename T>
T* Elements(Tensor& tensor) {
  return static_cast<T*>(tensor.mutable_raw_data());
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_MOVED_TYPES_H_
