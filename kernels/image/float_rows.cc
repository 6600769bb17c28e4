#include "kernels/image/float_rows.h"

#include "graph/base/check.h"
#include "graph/value/dtype.h"
#include "kernels/dispatch.h"

namespace sluice {
namespace {

template <typename T>
void Convert(const void* from, int64_t count, float* to) {
  const T* const elements = static_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(elements[i]);
}

}  // namespace

FloatRows::FloatRows(const Tensor& tensor)
    : data_(static_cast<const char*>(tensor.raw_data())), element_size_(DTypeSize(tensor.dtype())) {
  if (tensor.dtype() == DType::kFloat) return;
  const bool is_real = DispatchDType<Join<Join<FloatCppTypes, SignedCppTypes>, TypeList<uint8_t, uint16_t>>>(
      tensor.dtype(), [this](auto type) { convert_ = &Convert<typename decltype(type)::Type>; });
  SLUICE_CHECK(is_real);
}

void StoreFloats(const float* from, int64_t count, int64_t begin, Tensor* to) {
  DispatchDType<FloatCppTypes>(to->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    T* const out = static_cast<T*>(to->mutable_raw_data()) + begin;
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(from[i]);
  });
}

}  // namespace sluice
