#ifndef SLUICE_KERNELS_MEMORY_FILE_TENSOR_H_
#define SLUICE_KERNELS_MEMORY_FILE_TENSOR_H_

// Note [Tensors in files]
// A constant of a frozen model stands in its file at an odd address, where its elements cannot be read as such. Where
// nothing reads it but matrix products, which keep it in an order of their own, a copy of it would be read once. Such a
// constant stays where it is: its tensor has dtype, shape and the file's bytes, in memory of an allocator that is not
// the host's, as a device's would be. Code that may receive one must check IsInFile, and then read bytes() only, not
// flat<T>(). Which constants these are is found out when a graph's kernels are made (executor/plan/weight_constants.h):
// those of 256 KiB and more that no other kernel sees, in sessions whose products are not left to a plug-in. So the way
// of a product, and with it its bits, follows from the graph alone, and not from what ran before. An observer of a
// run's kernels (executor/trace/node_observer.h) sees their outputs, and so these tensors too.

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"

namespace sluice {

// A read-only tensor whose elements are `content`, wherever that stands; `owner` keeps it alive. RESOURCE_EXHAUSTED.
// REQUIRES: a plain dtype, and as many bytes as it and the shape need, at least one.
absl::StatusOr<Tensor> TensorInFile(DType dtype, const Shape& shape, absl::string_view content,
                                    std::shared_ptr<const void> owner);

// Whether the tensor was made by TensorInFile: one for which flat<T>() is not allowed.
bool IsInFile(const Tensor& tensor);

// A tensor in memory with the elements of one in a file. RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> CopyFromFile(const Tensor& tensor);

}  // namespace sluice

#endif  // SLUICE_KERNELS_MEMORY_FILE_TENSOR_H_
