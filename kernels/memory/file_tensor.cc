#include "kernels/memory/file_tensor.h"

#include <cstring>
#include <utility>

#include "graph/base/check.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// An array, whose address is its own: a linker may merge literals, and a device's memory may have this name.
constexpr char kName[] = "file";

// The memory of one tensor: gives out the bytes it was made for, once, and ends with them.
class FileBytes final : public Allocator {
 public:
  FileBytes(absl::string_view content, std::shared_ptr<const void> owner)
      : content_(content), owner_(std::move(owner)) {}

  absl::string_view name() const override { return kName; }
  bool IsHostMemory() const override { return false; }
  void* Allocate(size_t bytes, StreamTag) override {
    SLUICE_DCHECK(bytes == content_.size());
    return const_cast<char*>(content_.data());  // The tensor is read-only.
  }
  void Free(void*, size_t, StreamTag) override { std::unique_ptr<FileBytes> ended(this); }

 private:
  const absl::string_view content_;
  const std::shared_ptr<const void> owner_;
};

}  // namespace

absl::StatusOr<Tensor> TensorInFile(DType dtype, const Shape& shape, absl::string_view content,
                                    std::shared_ptr<const void> owner) {
  auto memory = std::make_unique<FileBytes>(content, std::move(owner));
  SLUICE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape, *memory));
  tensor.buffer()->MarkReadOnly();
  memory.release();  // NOLINT(bugprone-unused-return-value): the buffer's from here on, see Free.
  return tensor;
}

bool IsInFile(const Tensor& tensor) {
  const Buffer* const buffer = tensor.buffer();
  if (buffer == nullptr || buffer->allocator() == nullptr || buffer->allocator()->IsHostMemory()) return false;
  return buffer->allocator()->name().data() == kName;
}

absl::StatusOr<Tensor> CopyFromFile(const Tensor& tensor) {
  SLUICE_ASSIGN_OR_RETURN(Tensor copy, Tensor::Make(tensor.dtype(), tensor.shape()));
  std::memcpy(copy.mutable_raw_data(), tensor.raw_data(), tensor.total_bytes());
  return copy;
}

}  // namespace sluice
