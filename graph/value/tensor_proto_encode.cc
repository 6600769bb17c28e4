// Writing tensors as TensorProtos.

#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/resource_handle.h"
#include "graph/value/shape_proto.h"
#include "graph/value/tensor_proto.h"
#include "graph/value/tensor_proto_fields.h"
#include "graph/value/tstring.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

using tensor_proto::ValueField;

// Levels of variants that are written: deeper ones could not be read again.
constexpr int kMaxDepth = LoadLimits().max_nesting / tensor_proto::kMessagesPerVariant;

// Whether all elements have the same bytes.
bool IsSplat(const Tensor& tensor) {
  const absl::string_view bytes = tensor.bytes();
  const size_t step = DTypeSize(tensor.dtype());
  // Equal to itself shifted by one element.
  return std::memcmp(bytes.data(), bytes.data() + step, bytes.size() - step) == 0;
}

template <typename T>
T FirstElement(const Tensor& tensor) {
  T value;
  std::memcpy(&value, tensor.raw_data(), sizeof(T));
  return value;
}

// Writes the first element as the only value of its typed field.
void WriteOneValue(const Tensor& tensor, WireWriter* writer) {
  const uint32_t field = ValueField(tensor.dtype());
  switch (tensor.dtype()) {
    case DType::kFloat:
    case DType::kDouble:
    case DType::kComplex64:
    case DType::kComplex128:
      return writer->Bytes(field, tensor.bytes().substr(0, DTypeSize(tensor.dtype())));
    default:
      break;
  }
  int64_t value;
  switch (tensor.dtype()) {
    case DType::kInt8:
    case DType::kQInt8:
      value = FirstElement<int8_t>(tensor);
      break;
    case DType::kInt16:
    case DType::kQInt16:
      value = FirstElement<int16_t>(tensor);
      break;
    case DType::kInt32:
    case DType::kQInt32:
      value = FirstElement<int32_t>(tensor);
      break;
    default: {
      const size_t size = DTypeSize(tensor.dtype());
      value = size == 1   ? FirstElement<uint8_t>(tensor)
              : size == 2 ? FirstElement<uint16_t>(tensor)
              : size == 4 ? FirstElement<uint32_t>(tensor)
                          : FirstElement<int64_t>(tensor);
    }
  }
  const size_t mark = writer->BeginMessage(field);  // Packed.
  writer->RawVarint(static_cast<uint64_t>(value));
  writer->EndMessage(mark);
}

void WritePlain(const Tensor& tensor, const EncodeTensorOptions& options, WireWriter* writer) {
  const int64_t count = tensor.num_elements();
  if (count == 0) return;
  const bool splat = count == 1 || (options.compress_splats && IsSplat(tensor));
  if (!splat) return writer->Bytes(tensor_proto::kContent, tensor.bytes());
  const absl::string_view first = tensor.bytes().substr(0, DTypeSize(tensor.dtype()));
  const bool zero = first.find_first_not_of('\0') == absl::string_view::npos;
  if (!zero || count == 1) WriteOneValue(tensor, writer);
}

void WriteHandle(const ResourceHandle& handle, WireWriter* writer) {
  const size_t mark = writer->BeginMessage(tensor_proto::kResourceVal);
  if (handle.has_value()) {
    const ResourceHandleData& data = handle.data();
    if (!data.device.empty()) writer->Bytes(tensor_proto::kHandleDevice, data.device);
    if (!data.container.empty()) writer->Bytes(tensor_proto::kHandleContainer, data.container);
    if (!data.name.empty()) writer->Bytes(tensor_proto::kHandleName, data.name);
    if (data.hash_code != 0) writer->Varint(tensor_proto::kHandleHashCode, data.hash_code);
    if (!data.maybe_type_name.empty()) writer->Bytes(tensor_proto::kHandleTypeName, data.maybe_type_name);
    for (const ResourceHandleData::Element& element : data.dtypes_and_shapes) {
      const size_t element_mark = writer->BeginMessage(tensor_proto::kHandleElements);
      writer->Int(tensor_proto::kElementDType, static_cast<int64_t>(element.dtype));
      writer->Bytes(tensor_proto::kElementShape, EncodeShapeProto(element.shape));
      writer->EndMessage(element_mark);
    }
  }
  writer->EndMessage(mark);
}

// A variant tensor whose elements are being written.
struct OpenTensor {
  Tensor tensor;
  size_t tensor_mark = 0;    // Of the message around it; the root has none.
  int64_t next_element = 0;  // The previous one is open until all of `nested` are written.
  bool element_open = false;
  size_t element_mark = 0;
  std::vector<Tensor> nested;
  size_t next_nested = 0;
};

void WriteHeader(const Tensor& tensor, WireWriter* writer) {
  writer->Int(tensor_proto::kDType, static_cast<int64_t>(tensor.dtype()));
  const size_t mark = writer->BeginMessage(tensor_proto::kShape);
  WriteShapeProto(tensor.shape(), writer);
  writer->EndMessage(mark);
}

// Writes all fields of any tensor but one of variants.
void WriteSimple(const Tensor& tensor, const EncodeTensorOptions& options, WireWriter* writer) {
  WriteHeader(tensor, writer);
  if (tensor.dtype() == DType::kString) {
    for (const TString& text : tensor.flat<TString>()) writer->Bytes(tensor_proto::kStringVal, text.view());
  } else if (tensor.dtype() == DType::kResource) {
    for (const ResourceHandle& handle : tensor.flat<ResourceHandle>()) WriteHandle(handle, writer);
  } else {
    WritePlain(tensor, options, writer);
  }
}

// Starts the next element of `open`, or returns false when there is none.
absl::StatusOr<bool> OpenElement(OpenTensor* open, WireWriter* writer) {
  if (open->next_element == open->tensor.num_elements()) return false;
  const Variant& variant = open->tensor.flat<Variant>()[static_cast<size_t>(open->next_element++)];
  std::string metadata;
  open->nested.clear();
  open->next_nested = 0;
  if (variant.has_value()) SLUICE_RETURN_IF_ERROR(variant.object()->Encode(&metadata, &open->nested));
  open->element_mark = writer->BeginMessage(tensor_proto::kVariantVal);
  open->element_open = true;
  writer->Bytes(tensor_proto::kVariantTypeName, variant.type_name());
  if (!metadata.empty()) writer->Bytes(tensor_proto::kVariantMetadata, metadata);
  return true;
}

// Writes a tensor of variants and all tensors inside them; the stack holds the tensors that are begun.
absl::Status WriteVariants(const Tensor& root, const EncodeTensorOptions& options, WireWriter* writer) {
  std::vector<OpenTensor> stack(1);
  stack[0].tensor = root;
  WriteHeader(root, writer);
  while (!stack.empty()) {
    OpenTensor& open = stack.back();
    if (open.element_open && open.next_nested < open.nested.size()) {
      Tensor nested = std::move(open.nested[open.next_nested++]);
      const size_t mark = writer->BeginMessage(tensor_proto::kVariantTensors);
      if (nested.dtype() != DType::kVariant) {
        WriteSimple(nested, options, writer);
        writer->EndMessage(mark);
        continue;
      }
      if (static_cast<int>(stack.size()) >= kMaxDepth) return tensor_proto::NestingError(LoadLimits());
      WriteHeader(nested, writer);
      stack.emplace_back();
      stack.back().tensor = std::move(nested);
      stack.back().tensor_mark = mark;
      continue;
    }
    if (open.element_open) writer->EndMessage(open.element_mark);
    open.element_open = false;
    SLUICE_ASSIGN_OR_RETURN(const bool opened, OpenElement(&open, writer));
    if (opened) continue;
    if (stack.size() > 1) writer->EndMessage(open.tensor_mark);
    stack.pop_back();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> EncodeTensorProto(const Tensor& tensor, const EncodeTensorOptions& options) {
  if (!tensor.has_value()) {
    return Error(ErrorCode::kWrongUse).Text("a tensor without a value cannot be written as a TensorProto");
  }
  std::string out;
  WireWriter writer(&out);
  if (tensor.dtype() == DType::kVariant) {
    SLUICE_RETURN_IF_ERROR(WriteVariants(tensor, options, &writer));
  } else {
    WriteSimple(tensor, options, &writer);
  }
  return out;
}

}  // namespace sluice
