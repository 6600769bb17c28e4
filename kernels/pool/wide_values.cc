#include "kernels/pool/wide_values.h"

#include "graph/base/status_macros.h"
#include "graph/value/float16.h"

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

}  // namespace

DType WideTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kDouble:
      return DType::kDouble;
    case DType::kInt64:
    case DType::kUInt64:
    case DType::kUInt32:
      return DType::kInt64;
    case DType::kFloat:
    case DType::kHalf:
    case DType::kBFloat16:
      return DType::kFloat;
    default:
      return DType::kInt32;
  }
}

ConvertValues WidenFrom(DType dtype, WideUse use) {
  switch (dtype) {
    case DType::kHalf:
      return &Convert<Half, float>;
    case DType::kBFloat16:
      return &Convert<BFloat16, float>;
    case DType::kInt8:
      return &Convert<int8_t, int32_t>;
    case DType::kUInt8:
      return &Convert<uint8_t, int32_t>;
    case DType::kInt16:
      return &Convert<int16_t, int32_t>;
    case DType::kUInt16:
      return &Convert<uint16_t, int32_t>;
    case DType::kUInt32:
      return &Convert<uint32_t, int64_t>;
    case DType::kUInt64:
      return use == WideUse::kOrder ? &FlipHighestBit : &Convert<uint64_t, int64_t>;
    default:
      return nullptr;
  }
}

ConvertValues NarrowTo(DType dtype, WideUse use) {
  switch (dtype) {
    case DType::kHalf:
      return &Convert<float, Half>;
    case DType::kBFloat16:
      return &Convert<float, BFloat16>;
    case DType::kInt8:
    case DType::kUInt8:
      return &Convert<int32_t, uint8_t>;
    case DType::kInt16:
    case DType::kUInt16:
      return &Convert<int32_t, uint16_t>;
    case DType::kUInt32:
      return &Convert<int64_t, uint32_t>;
    case DType::kUInt64:
      return use == WideUse::kOrder ? &FlipHighestBit : &Convert<uint64_t, int64_t>;
    default:
      return nullptr;
  }
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
