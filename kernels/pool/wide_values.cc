#include "kernels/pool/wide_values.h"

#include "graph/base/status_macros.h"
#include "kernels/element_type.h"

namespace sluice {
namespace {

template <typename From, typename To>
void Convert(const void* from, void* to, int64_t n) {
  const From* const in = static_cast<const From*>(from);
  To* const out = static_cast<To*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<To>(in[i]);
}

// uint64 and int64 in the same order, both ways: the highest bit is the other way round.
void FlipHighestBit(const void* from, void* to, int64_t n) {
  const uint64_t* const in = static_cast<const uint64_t*>(from);
  uint64_t* const out = static_cast<uint64_t*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] ^ (uint64_t{1} << 63);
}

// The type of WideCppTypes for elements T.
template <typename T>
using WideOf = std::conditional_t<std::is_integral_v<T>,
                                  std::conditional_t<(sizeof(T) > 4 || std::is_same_v<T, uint32_t>), int64_t, int32_t>,
                                  ComputeType<T>>;

}  // namespace

DType WideTypeOf(DType dtype) {
  DType wide = DType::kInt32;
  DispatchDType<RealCppTypes>(dtype, [&](auto type) { wide = DTypeOf<WideOf<typename decltype(type)::Type>>::value; });
  return wide;
}

ConvertValues WidenFrom(DType dtype, WideUse use) {
  if (dtype == DType::kUInt64 && use == WideUse::kOrder) return &FlipHighestBit;
  ConvertValues found = nullptr;
  DispatchDType<RealCppTypes>(dtype, [&](auto type) {
    using T = typename decltype(type)::Type;
    if constexpr (!std::is_same_v<T, WideOf<T>>) found = &Convert<T, WideOf<T>>;
  });
  return found;
}

ConvertValues NarrowTo(DType dtype, WideUse use) {
  if (dtype == DType::kUInt64 && use == WideUse::kOrder) return &FlipHighestBit;
  ConvertValues found = nullptr;
  DispatchDType<RealCppTypes>(dtype, [&](auto type) {
    using T = typename decltype(type)::Type;
    if constexpr (!std::is_same_v<T, WideOf<T>>) found = &Convert<WideOf<T>, T>;
  });
  return found;
}

absl::StatusOr<Tensor> Widened(const Tensor& tensor, WideUse use, Allocator& allocator) {
  const ConvertValues widen = WidenFrom(tensor.dtype(), use);
  if (widen == nullptr) return tensor;
  SLUICE_ASSIGN_OR_RETURN(Tensor wide, Tensor::Make(WideTypeOf(tensor.dtype()), tensor.shape(), allocator));
  widen(tensor.raw_data(), wide.mutable_raw_data(), tensor.num_elements());
  return wide;
}

void NarrowInto(const Tensor& from, WideUse use, Tensor* to) {
  NarrowTo(to->dtype(), use)(from.raw_data(), to->mutable_raw_data(), from.num_elements());
}

}  // namespace sluice
