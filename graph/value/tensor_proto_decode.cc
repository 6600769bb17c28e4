// Making tensors from TensorProtos that have passed all checks.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/resource_handle.h"
#include "graph/value/shape_proto.h"
#include "graph/value/tensor_proto.h"
#include "graph/value/tensor_proto_fields.h"
#include "graph/value/tstring.h"
#include "graph/wire/packed_fields.h"

namespace sluice {
namespace {

using tensor_proto::ForEachElement;
using tensor_proto::Parsed;
using tensor_proto::ValueField;

// Content below this size is copied: cheaper than a header that keeps a file in memory.
constexpr size_t kMinSharedBytes = 1024;

// Fills plain elements from the front, surplus values dropped. Borrows the bytes.
class PlainWriter {
 public:
  PlainWriter(void* data, size_t bytes) : begin_(static_cast<char*>(data)), p_(begin_), end_(begin_ + bytes) {}

  void Append(const void* values, size_t bytes) {
    bytes = std::min(bytes, static_cast<size_t>(end_ - p_));
    std::memcpy(p_, values, bytes);
    p_ += bytes;
  }
  template <typename T>
  void AppendOne(T value) {
    Append(&value, sizeof(value));
  }
  // Repeats the last whole element of `element_bytes` to the end, or writes zeros if there is no whole element.
  void Pad(size_t element_bytes) {
    p_ -= static_cast<size_t>(p_ - begin_) % element_bytes;
    if (p_ == begin_) {
      std::memset(p_, 0, static_cast<size_t>(end_ - p_));
      return;
    }
    const char* const last = p_ - element_bytes;
    while (p_ != end_) {
      // Copies all elements so far, which doubles them each time.
      const size_t bytes = std::min(static_cast<size_t>(p_ - last), static_cast<size_t>(end_ - p_));
      std::memcpy(p_, last, bytes);
      p_ += bytes;
    }
  }

 private:
  char* const begin_;
  char* p_;
  char* const end_;
};

// Appends the varints of one field as elements of type T.
template <typename T>
absl::Status AppendVarints(const WireReader& field, PlainWriter* writer) {
  return ForEachVarint(field, [writer](uint64_t value) { writer->AppendOne(static_cast<T>(value)); });
}

absl::Status AppendField(const WireReader& field, DType dtype, PlainWriter* writer) {
  const WireType type = field.type();
  if (IsComplex(dtype) || dtype == DType::kFloat || dtype == DType::kDouble) {
    if (type == WireType::kBytes) writer->Append(field.bytes().data(), field.bytes().size());
    if (type == WireType::kFixed32) writer->AppendOne(field.fixed32());
    if (type == WireType::kFixed64) writer->AppendOne(field.fixed64());
    return absl::OkStatus();
  }
  if (type != WireType::kBytes && type != WireType::kVarint) return absl::OkStatus();
  if (dtype == DType::kBool) {
    return ForEachVarint(field, [writer](uint64_t value) { writer->AppendOne<uint8_t>(value != 0 ? 1 : 0); });
  }
  switch (DTypeSize(dtype)) {
    case 1:
      return AppendVarints<uint8_t>(field, writer);
    case 2:
      return AppendVarints<uint16_t>(field, writer);
    case 4:
      return AppendVarints<uint32_t>(field, writer);
    default:
      return AppendVarints<uint64_t>(field, writer);
  }
}

// Whether a field of `type` can hold values of `dtype`: the wire type of single values, or packed ones.
bool IsValueType(WireType type, DType dtype) {
  if (type == WireType::kBytes) return true;
  if (dtype == DType::kFloat || dtype == DType::kComplex64) return type == WireType::kFixed32;
  if (dtype == DType::kDouble || dtype == DType::kComplex128) return type == WireType::kFixed64;
  return type == WireType::kVarint;
}

absl::Status DecodePlain(const Parsed& parsed, Tensor* tensor) {
  PlainWriter writer(tensor->mutable_raw_data(), tensor->total_bytes());
  if (parsed.has_content) {
    writer.Append(parsed.content.data(), parsed.content.size());
    return absl::OkStatus();
  }
  const uint32_t field = ValueField(parsed.dtype);
  WireReader reader(parsed.bytes, parsed.base_offset);
  while (reader.Next()) {
    if (reader.field() != field || !IsValueType(reader.type(), parsed.dtype)) continue;
    SLUICE_RETURN_IF_ERROR(AppendField(reader, parsed.dtype, &writer));
  }
  writer.Pad(DTypeSize(parsed.dtype));
  return absl::OkStatus();
}

// Repeats the last of the `count` elements to the end.
template <typename T>
void PadElements(size_t count, absl::Span<T> elements) {
  if (count > 0 && count < elements.size()) std::fill(elements.begin() + count, elements.end(), elements[count - 1]);
}

absl::Status DecodeStrings(const Parsed& parsed, Tensor* tensor) {
  const absl::Span<TString> elements = tensor->flat<TString>();
  size_t count = 0;
  SLUICE_RETURN_IF_ERROR(ForEachElement(parsed, [&](absl::string_view text, size_t) {
    if (count < elements.size()) elements[count++] = text;
    return absl::OkStatus();
  }));
  PadElements(count, elements);
  return absl::OkStatus();
}

absl::StatusOr<ResourceHandleData::Element> DecodeHandleElement(WireReader reader) {
  ResourceHandleData::Element element;
  element.shape = PartialShape::Scalar();
  while (reader.Next()) {
    if (reader.tag() == WireTag(tensor_proto::kElementDType, WireType::kVarint)) {
      element.dtype = DTypeFromNumber(static_cast<int32_t>(reader.varint()));
    }
    if (reader.tag() == WireTag(tensor_proto::kElementShape, WireType::kBytes)) {
      SLUICE_ASSIGN_OR_RETURN(element.shape, DecodeShapeProto(reader.bytes(), reader.payload_offset()));
    }
  }
  return element;
}

absl::StatusOr<ResourceHandle> DecodeHandle(WireReader reader) {
  ResourceHandleData data;
  while (reader.Next()) {
    if (reader.tag() == WireTag(tensor_proto::kHandleHashCode, WireType::kVarint)) data.hash_code = reader.varint();
    if (reader.type() != WireType::kBytes) continue;
    if (reader.field() == tensor_proto::kHandleDevice) data.device = std::string(reader.bytes());
    if (reader.field() == tensor_proto::kHandleContainer) data.container = std::string(reader.bytes());
    if (reader.field() == tensor_proto::kHandleName) data.name = std::string(reader.bytes());
    if (reader.field() == tensor_proto::kHandleTypeName) data.maybe_type_name = std::string(reader.bytes());
    if (reader.field() == tensor_proto::kHandleElements) {
      SLUICE_ASSIGN_OR_RETURN(ResourceHandleData::Element element, DecodeHandleElement(reader.Message()));
      data.dtypes_and_shapes.push_back(std::move(element));
    }
  }
  return ResourceHandle::Make(std::move(data));
}

absl::Status DecodeHandles(const Parsed& parsed, Tensor* tensor) {
  const absl::Span<ResourceHandle> elements = tensor->flat<ResourceHandle>();
  size_t count = 0;
  SLUICE_RETURN_IF_ERROR(ForEachElement(parsed, [&](absl::string_view bytes, size_t offset) -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(elements[count++], DecodeHandle(WireReader(bytes, offset)));
    return absl::OkStatus();
  }));
  PadElements(count, elements);
  return absl::OkStatus();
}

// Shares large content with the file's bytes, which `owner` keeps alive. No value if it must be copied.
absl::StatusOr<Tensor> ShareContent(const Parsed& parsed, const std::shared_ptr<const void>& owner) {
  const bool aligned =
      reinterpret_cast<uintptr_t>(parsed.content.data()) % std::min<size_t>(DTypeSize(parsed.dtype), 8) == 0;
  if (owner == nullptr || parsed.content.size() < kMinSharedBytes || !aligned) return Tensor();
  return Tensor::Wrap(
      parsed.dtype, parsed.shape, const_cast<char*>(parsed.content.data()), parsed.content.size(), [owner] {},
      /*read_only=*/true);
}

// Decodes any tensor but one of variants.
absl::StatusOr<Tensor> DecodeSimple(const Parsed& parsed, const DecodeTensorOptions& options) {
  if (IsTrivial(parsed.dtype) && parsed.has_content) {
    SLUICE_ASSIGN_OR_RETURN(Tensor shared, ShareContent(parsed, options.owner));
    if (shared.has_value()) return shared;
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(parsed.dtype, parsed.shape));
  if (parsed.dtype == DType::kString) {
    SLUICE_RETURN_IF_ERROR(DecodeStrings(parsed, &tensor));
  } else if (parsed.dtype == DType::kResource) {
    SLUICE_RETURN_IF_ERROR(DecodeHandles(parsed, &tensor));
  } else {
    SLUICE_RETURN_IF_ERROR(DecodePlain(parsed, &tensor));
  }
  return tensor;
}

// One tensor of a tree: a root, and tensors inside the variants of others.
struct TreeNode {
  Parsed parsed;
  size_t first_child = 0;  // Its variants' children are consecutive.
  Tensor value;
};

// Adds the tensors inside the variants of `tree[index]` to the end of the tree.
absl::Status AddChildren(size_t index, const DecodeTensorOptions& options, std::vector<TreeNode>* tree) {
  const Parsed parsed = (*tree)[index].parsed;
  (*tree)[index].first_child = tree->size();
  return ForEachElement(parsed, [&](absl::string_view bytes, size_t offset) -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const tensor_proto::ParsedVariant variant,
                            tensor_proto::ParseVariant(WireReader(bytes, offset)));
    for (const tensor_proto::NestedTensor& nested : variant.tensors) {
      TreeNode child;
      SLUICE_ASSIGN_OR_RETURN(child.parsed,
                              tensor_proto::ParseTensor(nested.bytes, nested.base_offset, options.limits));
      tree->push_back(std::move(child));
    }
    return absl::OkStatus();
  });
}

// Makes the variants of `tree[index]`, whose children have their values.
absl::Status DecodeVariants(size_t index, const DecodeTensorOptions& options, std::vector<TreeNode>* tree) {
  TreeNode& node = (*tree)[index];
  SLUICE_ASSIGN_OR_RETURN(node.value, Tensor::Make(node.parsed.dtype, node.parsed.shape));
  const absl::Span<Variant> elements = node.value.flat<Variant>();
  size_t next_child = node.first_child;
  size_t count = 0;
  SLUICE_RETURN_IF_ERROR(ForEachElement(node.parsed, [&](absl::string_view bytes, size_t offset) -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const tensor_proto::ParsedVariant variant,
                            tensor_proto::ParseVariant(WireReader(bytes, offset)));
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < variant.tensors.size(); ++i) tensors.push_back(std::move((*tree)[next_child++].value));
    if (variant.type_name.empty() && variant.metadata.empty() && tensors.empty()) {  // No value.
      if (count < elements.size()) ++count;
      return absl::OkStatus();
    }
    const VariantCodec* const codec = FindVariantCodec(options.variant_codecs, variant.type_name);
    if (codec == nullptr) {
      return Error(ErrorCode::kTensorKind)
          .Found(PrintableName(variant.type_name))
          .AtByte(static_cast<int64_t>(offset))
          .Text(absl::StrCat("a variant of the unknown type '", PrintableName(variant.type_name), "'"));
    }
    if (count == elements.size()) return absl::OkStatus();  // Surplus.
    SLUICE_ASSIGN_OR_RETURN(elements[count++], codec->decode(variant.metadata, absl::MakeSpan(tensors)));
    return absl::OkStatus();
  }));
  PadElements(count, elements);
  return absl::OkStatus();
}

// Variants hold tensors that may hold variants: a list in which children come after their parents is worked on from
// the end, so that no depth needs a stack. InspectTensorProto has bounded depth and memory before.
absl::StatusOr<Tensor> DecodeVariantTree(Parsed root, const DecodeTensorOptions& options) {
  std::vector<TreeNode> tree(1);
  tree[0].parsed = std::move(root);
  for (size_t i = 0; i < tree.size(); ++i) {
    if (tree[i].parsed.dtype == DType::kVariant) SLUICE_RETURN_IF_ERROR(AddChildren(i, options, &tree));
  }
  for (size_t i = tree.size(); i-- > 0;) {
    if (tree[i].parsed.dtype == DType::kVariant) {
      SLUICE_RETURN_IF_ERROR(DecodeVariants(i, options, &tree));
    } else {
      SLUICE_ASSIGN_OR_RETURN(tree[i].value, DecodeSimple(tree[i].parsed, options));
    }
  }
  return std::move(tree[0].value);
}

}  // namespace

absl::StatusOr<Tensor> DecodeTensorProto(absl::string_view bytes, const DecodeTensorOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(Parsed parsed, tensor_proto::ParseTensor(bytes, options.base_offset, options.limits));
  if (parsed.dtype != DType::kVariant) return DecodeSimple(parsed, options);
  SLUICE_RETURN_IF_ERROR(InspectTensorProto(bytes, options.limits, options.base_offset).status());
  return DecodeVariantTree(std::move(parsed), options);
}

}  // namespace sluice
