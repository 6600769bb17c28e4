#include "kernels/linalg/float_cast.h"

#include "absl/types/span.h"
#include "graph/base/status_macros.h"
#include "graph/value/float16.h"

namespace sluice {
namespace {

template <typename From, typename To>
void CastAll(absl::Span<const From> from, absl::Span<To> to) {
  const From* const in = from.data();
  To* const out = to.data();
  const size_t count = from.size();
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<To>(in[i]);
}

}  // namespace

absl::StatusOr<Tensor> ToFloats(const Tensor& from, Allocator& allocator) {
  if (from.dtype() == DType::kFloat) return from;
  SLUICE_ASSIGN_OR_RETURN(Tensor to, Tensor::Make(DType::kFloat, from.shape(), allocator));
  if (from.dtype() == DType::kHalf) {
    CastAll(from.flat<Half>(), to.flat<float>());
  } else {
    CastAll(from.flat<BFloat16>(), to.flat<float>());
  }
  return to;
}

absl::StatusOr<Tensor> ToInts(const Tensor& from, Allocator& allocator) {
  SLUICE_ASSIGN_OR_RETURN(Tensor to, Tensor::Make(DType::kInt32, from.shape(), allocator));
  if (from.dtype() == DType::kInt8) {
    CastAll(from.flat<int8_t>(), to.flat<int32_t>());
  } else {
    CastAll(from.flat<uint8_t>(), to.flat<int32_t>());
  }
  return to;
}

void RoundFloats(const Tensor& from, Tensor* to) {
  if (to->dtype() == DType::kHalf) {
    CastAll(from.flat<float>(), to->flat<Half>());
  } else {
    CastAll(from.flat<float>(), to->flat<BFloat16>());
  }
}

}  // namespace sluice
