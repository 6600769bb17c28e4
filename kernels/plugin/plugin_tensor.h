#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_TENSOR_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_TENSOR_H_

// Tensors as plug-ins see them: the functions of SluiceApi that need no call.

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/value/tensor.h"
#include "kernels/plugin/plugin_api.h"

// A tensor that a plug-in keeps. One thread's at a time, like any handle; the elements may be shared.
struct SluiceTensor {
  sluice::Tensor value;
  bool is_writable = false;  // From allocate_temp.
};

namespace sluice {

SluiceStatus* WrapMemory(int32_t dtype, int32_t rank, const int64_t* dims, void* memory, size_t num_bytes,
                         void (*release)(void* data), void* data, SluiceTensor** tensor) noexcept;
SluiceStatus* KeepTensor(const SluiceTensor* tensor, SluiceTensor** kept) noexcept;
void ViewTensor(SluiceTensor* tensor, SluiceView* view) noexcept;
void DeleteTensor(SluiceTensor* tensor) noexcept;
SluiceString StringAt(const void* data, int64_t element) noexcept;
SluiceStatus* SetString(void* mutable_data, int64_t element, const char* text, size_t size) noexcept;

// Borrows sizes and elements of `tensor`.
SluiceView ViewOf(const Tensor& tensor, bool is_writable);
// For the plug-in to free.
SluiceTensor* GiveTensor(Tensor value, bool is_writable);
// kHostKernel for NULL.
absl::Status CheckIsTensor(const SluiceTensor* tensor);
// INVALID_ARGUMENT for what makes no shape.
absl::StatusOr<Shape> ShapeOfPlugin(int32_t rank, const int64_t* dims);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_TENSOR_H_
