#ifndef SLUICE_KERNELS_ARRAY_SHARED_ROWS_H_
#define SLUICE_KERNELS_ARRAY_SHARED_ROWS_H_

#include "absl/status/statusor.h"
#include "graph/value/tensor.h"

namespace sluice {

// Whether `count` elements of `tensor` from element `begin` on are better shared than copied: so many that the copy
// costs more, aligned as fresh memory is, and no small part that would keep a large buffer alive for long.
inline bool SharesWell(const Tensor& tensor, int64_t begin, int64_t count) {
  constexpr size_t kMinBytes = 4096;
  if (tensor.IsInline() || tensor.dtype() == DType::kInvalid) return false;
  const size_t size = DTypeSize(tensor.dtype());
  const size_t bytes = static_cast<size_t>(count) * size;
  const size_t offset = tensor.buffer_offset() + static_cast<size_t>(begin) * size;
  return bytes >= kMinBytes && bytes >= tensor.total_bytes() / 16 && offset % kTensorAlignment == 0;
}

// The elements of `tensor` from element `begin` on as a tensor of shape `shape`, in the same buffer.
// REQUIRES: SharesWell() for them.
inline absl::StatusOr<Tensor> ShareElements(const Tensor& tensor, int64_t begin, const Shape& shape) {
  Buffer* const buffer = tensor.buffer();
  buffer->Ref();
  const size_t offset = tensor.buffer_offset() + static_cast<size_t>(begin) * DTypeSize(tensor.dtype());
  return Tensor::FromBuffer(tensor.dtype(), shape, buffer, offset);
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_SHARED_ROWS_H_
