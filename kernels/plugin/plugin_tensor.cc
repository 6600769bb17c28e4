#include "kernels/plugin/plugin_tensor.h"

#include <memory>
#include <utility>

#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/plugin/plugin_status.h"

namespace sluice {
namespace {

// Memory of a plug-in. Gives it back once: when it is called, or when it is destroyed uncalled for want of memory.
class LentMemory {
 public:
  LentMemory(void (*release)(void* data), void* data) : release_(release), data_(data) {}
  LentMemory(LentMemory&& other) noexcept : release_(std::exchange(other.release_, nullptr)), data_(other.data_) {}
  LentMemory& operator=(LentMemory&&) = delete;
  ~LentMemory() { (*this)(); }

  void operator()() noexcept {
    const auto release = std::exchange(release_, nullptr);
    if (release == nullptr) return;
    try {
      release(data_);
    } catch (...) {
      LogCaught("`release` of a plug-in");
    }
  }

 private:
  void (*release_)(void* data);  // Null: given back, moved, or nothing to do.
  void* data_;
};

}  // namespace

SluiceView ViewOf(const Tensor& tensor, bool is_writable) {
  // Of string elements nothing but the address is handed out: set_string writes them.
  void* const data = const_cast<void*>(tensor.raw_data());
  return {static_cast<int32_t>(tensor.dtype()),
          tensor.rank(),
          tensor.shape().dims().data(),
          tensor.num_elements(),
          tensor.total_bytes(),
          data,
          is_writable ? data : nullptr};
}

SluiceTensor* GiveTensor(Tensor value, bool is_writable) {
  return std::make_unique<SluiceTensor>(SluiceTensor{std::move(value), is_writable}).release();
}

absl::StatusOr<Shape> ShapeOfPlugin(int32_t rank, const int64_t* dims) {
  if (rank < 0) return Error(ErrorCode::kHostKernel).Text("the kernel asks for a tensor of a negative rank");
  return Shape::Make({dims, static_cast<size_t>(rank)});
}

absl::Status CheckIsTensor(const SluiceTensor* tensor) {
  return tensor != nullptr ? absl::OkStatus()
                           : Error(ErrorCode::kHostKernel).Text("the kernel gives NULL for a tensor");
}

SluiceStatus* WrapMemory(int32_t dtype, int32_t rank, const int64_t* dims, void* memory, size_t num_bytes,
                         void (*release)(void* data), void* data, SluiceTensor** tensor) noexcept {
  return Answer([&] {
    LentMemory lent(release, data);
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ShapeOfPlugin(rank, dims));
    // Read-only: an op further on that has the only reference would work in the plug-in's memory.
    SLUICE_ASSIGN_OR_RETURN(Tensor made, Tensor::Wrap(DTypeFromNumber(dtype), shape, memory, num_bytes, std::move(lent),
                                                      /*read_only=*/true));
    *tensor = GiveTensor(std::move(made), /*is_writable=*/false);
    return absl::OkStatus();
  });
}

SluiceStatus* KeepTensor(const SluiceTensor* tensor, SluiceTensor** kept) noexcept {
  return Answer([&] {
    SLUICE_RETURN_IF_ERROR(CheckIsTensor(tensor));
    *kept = GiveTensor(tensor->value, /*is_writable=*/false);
    return absl::OkStatus();
  });
}

void ViewTensor(SluiceTensor* tensor, SluiceView* view) noexcept {
  if (tensor == nullptr) {
    *view = SluiceView{};
    return;
  }
  *view = ViewOf(tensor->value, tensor->is_writable && tensor->value.IsUniquelyOwned());
}

void DeleteTensor(SluiceTensor* tensor) noexcept { std::unique_ptr<SluiceTensor>{tensor}.reset(); }

SluiceString StringAt(const void* data, int64_t element) noexcept {
  const TString& text = static_cast<const TString*>(data)[element];
  return {text.data(), text.size()};
}

SluiceStatus* SetString(void* mutable_data, int64_t element, const char* text, size_t size) noexcept {
  return Answer([&]() -> absl::Status {
    if (mutable_data == nullptr)
      return Error(ErrorCode::kHostKernel).Text("the kernel writes strings that are not its own");
    static_cast<TString*>(mutable_data)[element].assign({text, size});
    return absl::OkStatus();
  });
}

}  // namespace sluice
