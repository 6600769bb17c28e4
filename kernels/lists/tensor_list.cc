#include "kernels/lists/tensor_list.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/shape_proto.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

// Takes a varint from the front of `bytes`. Returns false if they do not begin with one.
bool TakeVarint(absl::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

absl::Status NoList(absl::string_view why) {
  return Error(ErrorCode::kTensorContent).Text(absl::StrCat("is not a TensorList as files have it: ", why));
}

}  // namespace

absl::Status TensorList::Resize(int64_t size) {
  if (size > kMaxSize) {
    return Error(ErrorCode::kOutOfMemory)
        .Found(absl::StrCat("a list of ", size, " elements"))
        .Expected(absl::StrCat("at most ", kMaxSize));
  }
  elements_.resize(static_cast<size_t>(size));
  return absl::OkStatus();
}

CountedPtr<TensorList> TensorList::Copy(Allocator& allocator) const {
  CountedPtr<TensorList> copy = MakeCounted<TensorList>(kind_, allocator);
  copy->elements_.reserve(elements_.size() + 1);  // Mostly to be pushed to.
  copy->elements_.assign(elements_.begin(), elements_.end());
  return copy;
}

absl::Status TensorList::Encode(std::string* metadata, std::vector<Tensor>* tensors) const {
  uint64_t unset = 0;
  for (const Tensor& element : elements_) unset += element.has_value() ? 0 : 1;
  WireWriter writer(metadata);
  writer.RawVarint(unset);
  for (size_t i = 0; i < elements_.size(); ++i) {
    if (!elements_[i].has_value()) writer.RawVarint(i);
  }
  writer.RawVarint(static_cast<uint64_t>(kind_.dtype));
  writer.RawVarint(static_cast<uint64_t>(kind_.max_size));
  metadata->append(EncodeShapeProto(kind_.element_shape));
  for (const Tensor& element : elements_) {
    if (element.has_value()) tensors->push_back(element);
  }
  return absl::OkStatus();
}

absl::StatusOr<Variant> TensorList::Decode(absl::string_view metadata, absl::Span<Tensor> tensors) {
  uint64_t unset = 0, dtype = 0, max_size = 0;
  if (!TakeVarint(&metadata, &unset)) return NoList("it ends early");
  if (unset > metadata.size() || unset + tensors.size() > static_cast<uint64_t>(kMaxSize)) {
    return NoList(absl::StrCat(unset, " elements without a value"));
  }
  std::vector<uint64_t> places(static_cast<size_t>(unset));
  for (size_t i = 0; i < places.size(); ++i) {
    if (!TakeVarint(&metadata, &places[i])) return NoList("it ends early");
    if (places[i] >= unset + tensors.size() || (i > 0 && places[i] <= places[i - 1])) {
      return NoList(absl::StrCat("place ", places[i], " without a value"));
    }
  }
  if (!TakeVarint(&metadata, &dtype) || !TakeVarint(&metadata, &max_size)) return NoList("it ends early");
  Kind kind;
  kind.dtype = dtype < 100 ? DTypeFromNumber(static_cast<int64_t>(dtype)) : DType::kInvalid;
  if (!IsSupported(kind.dtype)) return NoList(absl::StrCat("dtype ", dtype));
  kind.max_size = static_cast<int32_t>(static_cast<uint32_t>(max_size));
  SLUICE_ASSIGN_OR_RETURN(kind.element_shape, DecodeShapeProto(metadata));
  CountedPtr<TensorList> list = MakeCounted<TensorList>(kind, HostAllocator());
  SLUICE_RETURN_IF_ERROR(list->Resize(static_cast<int64_t>(unset + tensors.size())));
  size_t next_place = 0, next_tensor = 0;
  for (size_t i = 0; i < list->elements_.size(); ++i) {
    if (next_place < places.size() && places[next_place] == i) {
      ++next_place;
      continue;
    }
    Tensor& element = tensors[next_tensor++];
    if (element.dtype() != kind.dtype) return NoList("elements of another dtype");
    list->elements_[i] = std::move(element);
  }
  return Variant(std::move(list));
}

std::string TensorList::DebugString() const {
  return absl::StrCat("TensorList of ", size(), " ", DTypeName(dtype()), " ", element_shape().ToString());
}

absl::StatusOr<Tensor> ZeroElement(DType dtype, const Shape& shape, Allocator& allocator) {
  return IsTrivial(dtype) ? Tensor::MakeZeros(dtype, shape, allocator) : Tensor::Make(dtype, shape, allocator);
}

}  // namespace sluice
