#include "graph/value/tensor.h"

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/value/resource_handle.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"

namespace sluice {
namespace {

std::string TypeText(DType dtype, const Shape& shape) { return absl::StrCat(DTypeName(dtype), " ", shape.ToString()); }

absl::Status UnsupportedDType(DType dtype) {
  return Error(ErrorCode::kTensorDType).Found(DTypeName(dtype)).Text("no tensor can have this dtype");
}

absl::Status OutOfMemory(DType dtype, const Shape& shape, absl::string_view allocator) {
  const std::string bytes = absl::StrCat(shape.num_elements(), " x ", DTypeSize(dtype), " bytes");
  return Error(ErrorCode::kOutOfMemory)
      .Found(bytes)
      .Text(absl::StrCat("no memory for ", bytes, " of ", TypeText(dtype, shape), " from allocator ", allocator));
}

// Bytes of the elements; false when they overflow.
bool CheckedBytes(DType dtype, const Shape& shape, size_t* bytes) {
  int64_t product;
  if (!CheckedMul(shape.num_elements(), static_cast<int64_t>(DTypeSize(dtype)), &product)) return false;
  *bytes = static_cast<size_t>(product);
  return true;
}

// Alignment that reading one element needs.
size_t ElementAlignment(DType dtype) {
  if (dtype == DType::kComplex64) return alignof(std::complex<float>);
  if (dtype == DType::kComplex128 || dtype == DType::kString) return 8;
  return DTypeSize(dtype);
}

// The error for object elements, or elements that this process writes, outside of host memory.
absl::Status NeedsHostMemory(DType dtype, absl::string_view allocator) {
  return Error(ErrorCode::kWrongUse)
      .Text(absl::StrCat("a tensor of ", DTypeName(dtype), " cannot be made in the memory of ", allocator))
      .Expected("an allocator of host memory");
}

template <typename T>
void CopyElements(const Tensor& from, Tensor* to) {
  const absl::Span<const T> source = from.flat<T>();
  std::copy(source.begin(), source.end(), to->flat<T>().begin());
}

// Strings that view another owner's text, and the callback for their end: called once, at the latest by the destructor.
class StringViews {
 public:
  StringViews(absl::Span<const absl::string_view> texts, absl::AnyInvocable<void()> release)
      : bytes_(texts.size() * sizeof(TString)), release_(std::move(release)) {
    data_ = static_cast<TString*>(HostAllocator().Allocate(bytes_, kHostStream));
    for (size_t i = 0; data_ != nullptr && i < texts.size(); ++i) ::new (data_ + i) TString(TString::ViewOf(texts[i]));
  }
  StringViews(StringViews&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(other.bytes_),
        release_(std::exchange(other.release_, nullptr)) {}
  StringViews& operator=(StringViews&&) = delete;
  // Views and strings in place own nothing: the bytes are all there is to free.
  ~StringViews() { (*this)(); }

  TString* data() const { return data_; }
  void operator()() {
    if (data_ != nullptr) HostAllocator().Free(data_, bytes_, kHostStream);
    data_ = nullptr;
    absl::AnyInvocable<void()> release = std::exchange(release_, nullptr);
    if (release) release();
  }

 private:
  TString* data_ = nullptr;
  size_t bytes_;
  absl::AnyInvocable<void()> release_;
};

}  // namespace

absl::StatusOr<Tensor> Tensor::Make(DType dtype, const Shape& shape, Allocator& allocator, StreamTag stream) {
  if (!IsSupported(dtype)) return UnsupportedDType(dtype);
  if (!IsTrivial(dtype) && !allocator.IsHostMemory()) return NeedsHostMemory(dtype, allocator.name());
  size_t bytes;
  if (!CheckedBytes(dtype, shape, &bytes)) return OutOfMemory(dtype, shape, allocator.name());
  Tensor tensor;
  if (bytes == 0 || (bytes <= kInlineBytes && IsTrivial(dtype) && allocator.IsHostMemory())) {
    tensor.SetType(dtype, Storage::kInline);
  } else {
    Buffer* const buffer = Buffer::New(dtype, shape.num_elements(), allocator, stream);
    if (buffer == nullptr) return OutOfMemory(dtype, shape, allocator.name());
    tensor.heap_ = Heap{buffer, 0};
    tensor.SetType(dtype, Storage::kBuffer);
  }
  tensor.shape_ = shape;
  return tensor;
}

absl::StatusOr<Tensor> Tensor::MakeZeros(DType dtype, const Shape& shape, Allocator& allocator) {
  if (!allocator.IsHostMemory()) return NeedsHostMemory(dtype, allocator.name());
  absl::StatusOr<Tensor> tensor = Make(dtype, shape, allocator);
  if (tensor.ok() && IsTrivial(dtype)) std::memset(tensor->mutable_raw_data(), 0, tensor->total_bytes());
  return tensor;
}

absl::StatusOr<Tensor> Tensor::Wrap(DType dtype, const Shape& shape, void* data, size_t bytes,
                                    absl::AnyInvocable<void()> release, bool read_only) {
  size_t needed = 0;
  absl::Status status;
  if (!IsTrivial(dtype)) {
    status = IsSupported(dtype) ? Error(ErrorCode::kTensorKind)
                                      .Found(DTypeName(dtype))
                                      .Text("only plain elements can be taken from memory of the caller")
                                : UnsupportedDType(dtype);
  } else if (!CheckedBytes(dtype, shape, &needed) || needed != bytes) {
    status = Error(ErrorCode::kTensorContent)
                 .Found(absl::StrCat(bytes, " bytes"))
                 .Expected(absl::StrCat(needed, " bytes for ", TypeText(dtype, shape)))
                 .Text("the memory given does not fit the shape");
  }
  if (!status.ok()) {
    if (release) release();
    return status;
  }
  Buffer* const buffer = Buffer::Wrap(data, bytes, std::move(release));
  if (buffer == nullptr) return OutOfMemory(dtype, shape, HostAllocator().name());
  if (read_only) buffer->MarkReadOnly();
  return FromBuffer(dtype, shape, buffer, 0);
}

absl::StatusOr<Tensor> Tensor::WrapStrings(const Shape& shape, absl::Span<const absl::string_view> elements,
                                           absl::AnyInvocable<void()> release) {
  if (shape.num_elements() != static_cast<int64_t>(elements.size())) {
    if (release) release();
    return Error(ErrorCode::kTensorContent)
        .Found(absl::StrCat(elements.size(), " strings"))
        .Expected(absl::StrCat(shape.num_elements(), " for ", TypeText(DType::kString, shape)))
        .Text("the strings given do not fit the shape");
  }
  if (elements.empty()) {
    if (release) release();
    return Make(DType::kString, shape);
  }
  // The buffer destroys the strings, then releases their text.
  StringViews views(elements, std::move(release));
  if (views.data() == nullptr) return OutOfMemory(DType::kString, shape, HostAllocator().name());
  void* const data = views.data();
  try {
    Buffer* const buffer = Buffer::WrapStrings(data, elements.size() * sizeof(TString), std::move(views));
    if (buffer == nullptr) return OutOfMemory(DType::kString, shape, HostAllocator().name());
    buffer->MarkReadOnly();
    return FromBuffer(DType::kString, shape, buffer, 0);
  } catch (const std::bad_alloc&) {  // `views` still owns all, and ends here.
    return OutOfMemory(DType::kString, shape, HostAllocator().name());
  }
}

absl::StatusOr<Tensor> Tensor::FromBuffer(DType dtype, const Shape& shape, Buffer* buffer, size_t offset) {
  Tensor tensor;
  tensor.heap_ = Heap{buffer, offset};
  tensor.SetType(dtype, Storage::kBuffer);  // From here on the reference is the tensor's.
  if (!IsSupported(dtype)) return UnsupportedDType(dtype);
  size_t bytes;
  if (!CheckedBytes(dtype, shape, &bytes) || offset > buffer->bytes() || bytes > buffer->bytes() - offset) {
    return Error(ErrorCode::kTensorContent)
        .Found(absl::StrCat(buffer->bytes(), " bytes, used from byte ", offset, " on"))
        .Expected(absl::StrCat("room for ", TypeText(dtype, shape)))
        .Text("the buffer is too small for the shape");
  }
  const bool same_kind = buffer->element_dtype() == (IsTrivial(dtype) ? DType::kInvalid : dtype);
  if (!same_kind || (reinterpret_cast<uintptr_t>(buffer->data()) + offset) % ElementAlignment(dtype) != 0) {
    return Error(ErrorCode::kTensorKind)
        .Found(same_kind ? absl::StrCat("byte offset ", offset) : DTypeName(buffer->element_dtype()))
        .Expected(same_kind ? absl::StrCat("a multiple of ", ElementAlignment(dtype)) : DTypeName(dtype))
        .Text(same_kind ? "the elements are misaligned in their buffer" : "the buffer holds elements of another kind");
  }
  tensor.shape_ = shape;
  return tensor;
}

Tensor Tensor::String(absl::string_view value) {
  Tensor tensor = Strings({value});
  tensor.shape_ = Shape();
  return tensor;
}

Tensor Tensor::Strings(absl::Span<const absl::string_view> values) {
  absl::StatusOr<Tensor> made = Make(DType::kString, Shape::Of({static_cast<int64_t>(values.size())}));
  if (!made.ok()) throw std::bad_alloc();  // As the strings themselves do.
  std::copy(values.begin(), values.end(), made->flat<TString>().begin());
  return *std::move(made);
}

absl::StatusOr<Tensor> Tensor::Reshaped(const Shape& shape) const {
  if (shape.num_elements() != num_elements()) {
    return Error(ErrorCode::kShapeMismatch)
        .Found(absl::StrCat(shape_.ToString(), " with ", num_elements(), " elements"))
        .Expected(absl::StrCat(shape.num_elements(), " elements for ", shape.ToString()))
        .Text("a tensor keeps its number of elements when it is reshaped");
  }
  Tensor result = *this;
  result.shape_ = shape;
  return result;
}

absl::StatusOr<Tensor> Tensor::DeepCopy() const {
  if (IsInline()) return *this;
  absl::StatusOr<Tensor> copy = Make(dtype(), shape());
  if (!copy.ok()) return copy;
  if (dtype() == DType::kString) {
    CopyElements<TString>(*this, &*copy);
  } else if (dtype() == DType::kResource) {
    CopyElements<ResourceHandle>(*this, &*copy);
  } else if (dtype() == DType::kVariant) {
    CopyElements<Variant>(*this, &*copy);
  } else {
    std::memcpy(copy->mutable_raw_data(), raw_data(), total_bytes());
  }
  return copy;
}

Tensor Tensor::SliceRows(int64_t begin, int64_t end) const {
  SLUICE_CHECK(rank() > 0 && 0 <= begin && begin <= end && end <= dim(0));
  std::vector<int64_t> dims(shape_.dims().begin(), shape_.dims().end());
  dims[0] = end - begin;
  absl::StatusOr<Shape> shape = Shape::Make(dims);
  SLUICE_CHECK(shape.ok());  // No size grew.
  const size_t row_bytes = dim(0) == 0 ? 0 : total_bytes() / static_cast<size_t>(dim(0));
  const size_t skipped = row_bytes * static_cast<size_t>(begin);
  Tensor result = *this;
  result.shape_ = *std::move(shape);
  if (IsInline()) {
    std::memmove(result.inline_, inline_ + skipped, row_bytes * static_cast<size_t>(end - begin));
  } else {
    result.heap_.offset += skipped;
  }
  return result;
}

absl::Status NotAScalar(const Tensor& tensor, DType wanted) {
  return Error(tensor.dtype() == wanted ? ErrorCode::kShapeRank : ErrorCode::kTensorDType)
      .Found(TypeText(tensor.dtype(), tensor.shape()))
      .Expected(absl::StrCat("one element of ", DTypeName(wanted)))
      .Text("the tensor is not the scalar that is needed");
}

}  // namespace sluice
