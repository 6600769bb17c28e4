#ifndef SLUICE_KERNELS_LISTS_VARIANT_INPUTS_H_
#define SLUICE_KERNELS_LISTS_VARIANT_INPUTS_H_

// Values of variants among the inputs and outputs of kernels.

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/variant.h"
#include "kernels/kernel_context.h"

namespace sluice {

// A scalar variant.
absl::StatusOr<Tensor> VariantTensor(Variant value, Allocator& allocator);

// The only variant in input `i`. kOpShape unless that is a scalar.
absl::StatusOr<const Variant*> ScalarVariantInput(const KernelContext& context, int i);
// kOpValue: `value`, of input `i`, is not `expected` ("a TensorList").
absl::Status WrongVariant(const Variant& value, int i, absl::string_view expected);

// The T in input `i`, or the errors of both.
template <typename T>
absl::StatusOr<const T*> VariantInput(const KernelContext& context, int i, absl::string_view expected) {
  SLUICE_ASSIGN_OR_RETURN(const Variant* const value, ScalarVariantInput(context, i));
  if (const T* const found = value->Get<T>()) return found;
  return WrongVariant(*value, i, expected);
}

// The only element of a scalar variant.
inline const Variant& VariantIn(const Tensor& scalar) { return scalar.flat<Variant>()[0]; }
// REQUIRES: the tensor is the only holder of its buffer.
inline Variant& MutableVariant(Tensor& scalar) { return scalar.flat<Variant>()[0]; }

// A T that the kernel may change, and the variant that holds it: the kernel's output.
template <typename T>
struct OwnVariant {
  Tensor handle;
  T* value = nullptr;
};

template <typename T>
absl::StatusOr<OwnVariant<T>> MakeOwn(CountedPtr<T> value, Allocator& allocator) {
  OwnVariant<T> own;
  own.value = value.get();
  SLUICE_ASSIGN_OR_RETURN(own.handle, VariantTensor(Variant(std::move(value)), allocator));
  return own;
}

// Takes the value of input `i`, or `copy(value)` (CountedPtr<T>) if it has other holders: Note [Lists are values] in
// tensor_list.h. The input has no value then. REQUIRES: VariantInput<T>(context, i, ...) is OK.
template <typename T, typename Copy>
absl::StatusOr<OwnVariant<T>> TakeVariant(KernelContext& context, int i, Copy copy) {
  Tensor handle = context.TakeInput(i);
  T* const mine = handle.IsUniquelyOwned() ? MutableVariant(handle).template GetMutable<T>() : nullptr;
  if (mine != nullptr) return OwnVariant<T>{std::move(handle), mine};
  return MakeOwn(copy(*VariantIn(handle).template Get<T>()), context.allocator());
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_LISTS_VARIANT_INPUTS_H_
