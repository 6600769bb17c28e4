#ifndef SLUICE_KERNELS_LISTS_TENSOR_LIST_H_
#define SLUICE_KERNELS_LISTS_TENSOR_LIST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"
#include "graph/value/variant.h"
#include "kernels/memory/container_allocator.h"

namespace sluice {

// A list of tensors of one dtype, as a value: what a loop carries from one iteration to the next.
//
// Note [Lists are values]
// An op that changes a list gives another list. Where the op is the last reader of its input it changes that list in
// place (list_inputs.h), so that a loop that sets or pushes items in turn costs O(1) a step; otherwise it works on a
// copy, which shares the elements' buffers.
//
// Owned by the variant tensors that hold it. Thread-safety: constant access from any thread.
class TensorList final : public VariantObject {
 public:
  static constexpr absl::string_view kTypeName = "tensorflow::TensorList";
  // More elements than any loop writes, few enough that empty ones do not fill the memory.
  static constexpr int64_t kMaxSize = int64_t{1} << 24;
  using Elements = std::vector<Tensor, ContainerAllocator<Tensor>>;

  // Properties of all elements.
  struct Kind {
    DType dtype = DType::kInvalid;
    PartialShape element_shape;
    int64_t max_size = -1;  // Of pushes; negative: no limit.
  };

  // The table of elements lies in memory of `allocator`, which must outlive the list.
  TensorList(Kind kind, Allocator& allocator)
      : VariantObject(kTypeName), kind_(std::move(kind)), elements_(ContainerAllocator<Tensor>(allocator)) {}

  DType dtype() const { return kind_.dtype; }
  const PartialShape& element_shape() const { return kind_.element_shape; }
  const Kind& kind() const { return kind_; }
  int64_t size() const { return static_cast<int64_t>(elements_.size()); }
  // One without a value (Tensor::has_value) was never set.
  const Elements& elements() const { return elements_; }
  const Tensor& at(int64_t i) const { return elements_[static_cast<size_t>(i)]; }

  // REQUIRES (for methods that change the list): the caller is its only holder. They throw std::bad_alloc where memory
  // is short.
  Elements& mutable_elements() { return elements_; }
  // Elements that are new have no value. kOutOfMemory beyond kMaxSize.
  absl::Status Resize(int64_t size);

  // A list of its own with the same elements.
  CountedPtr<TensorList> Copy(Allocator& allocator) const;

  // As TensorFlow writes them: metadata is the places without a value, dtype and limit as varints, then the shape.
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;
  // The reverse. kTensorContent for what no list writes.
  static absl::StatusOr<Variant> Decode(absl::string_view metadata, absl::Span<Tensor> tensors);
  std::string DebugString() const override;

 private:
  const Kind kind_;
  Elements elements_;
};

// Zeros, or empty strings, null handles.
absl::StatusOr<Tensor> ZeroElement(DType dtype, const Shape& shape, Allocator& allocator);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LISTS_TENSOR_LIST_H_
