#ifndef SLUICE_KERNELS_SPARSE_TENSOR_ELEMENT_H_
#define SLUICE_KERNELS_SPARSE_TENSOR_ELEMENT_H_

// Tensors as elements of other tensors, in the two forms of the ops that serialize: strings, the bytes of a TensorProto
// each, and variants, which hold the tensor.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"

namespace sluice {

// How many bytes PutTensor writes for `tensor` into an element of a string tensor, or a few more.
int64_t WrittenBytes(const Tensor& tensor);

// Makes `tensor` element `i` of `out`, a tensor of strings (with the bytes that TensorFlow writes) or of variants.
// REQUIRES: plain elements or strings where `out` is of strings.
void PutTensor(const Tensor& tensor, Tensor* out, int64_t i);

// Checks that all tensors encoded in the strings of input `input` together fit in memory: a few bytes can encode a
// large tensor of equal elements. kOutOfMemory beyond the limit of one constant, or where the run's allocator has not
// as much (what is decoded does not come from there); kOpValue if one is not a tensor. Variants hold what is there
// already.
absl::Status CheckElements(const KernelContext& context, int input);

// The tensor that element `i` of input `input` holds. kOpValue if it is not a tensor. REQUIRES: CheckElements.
absl::StatusOr<Tensor> TakeTensor(const KernelContext& context, int input, int64_t i);

}  // namespace sluice

#endif  // SLUICE_KERNELS_SPARSE_TENSOR_ELEMENT_H_
