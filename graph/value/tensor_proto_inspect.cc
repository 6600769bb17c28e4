// Reads and checks TensorProtos before memory is taken.

#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/shape_proto.h"
#include "graph/value/tensor_proto.h"
#include "graph/value/tensor_proto_fields.h"
#include "graph/value/tstring.h"
#include "graph/wire/packed_fields.h"

namespace sluice {
namespace tensor_proto {
namespace {

// The parts of a TensorProto as they come, in any order.
struct Raw {
  int32_t dtype = 0;
  RawShape shape;
  bool has_content = false;
  absl::string_view content;
  int64_t num_values[kUInt64Val + 1] = {};  // By field.
};

std::string TypeText(const Parsed& parsed) {
  return absl::StrCat(DTypeName(parsed.dtype), " ", parsed.shape.ToString());
}

// The approximate memory of a resource handle, a variant or a nested tensor beside its element. Charged so that a file
// of many tiny ones does not grow beyond the limit when it is unpacked.
constexpr int64_t kObjectBytes = 256;

// Counts the numbers in the field at `reader` into `count`, and checks their packing.
absl::Status CountNumbers(const WireReader& reader, int64_t* count) {
  const auto add_one = [count](uint64_t) { ++*count; };
  switch (reader.field()) {
    case kFloatVal:
    case kSComplexVal:
      if (reader.type() == WireType::kBytes && reader.bytes().size() % 4 == 0) {
        *count += static_cast<int64_t>(reader.bytes().size() / 4);
        return absl::OkStatus();
      }
      if (reader.type() != WireType::kBytes && reader.type() != WireType::kFixed32) return absl::OkStatus();
      return ForEachFixed32(reader, add_one);
    case kDoubleVal:
    case kDComplexVal:
      if (reader.type() == WireType::kBytes && reader.bytes().size() % 8 == 0) {
        *count += static_cast<int64_t>(reader.bytes().size() / 8);
        return absl::OkStatus();
      }
      if (reader.type() != WireType::kBytes && reader.type() != WireType::kFixed64) return absl::OkStatus();
      return ForEachFixed64(reader, add_one);
    default:
      if (reader.type() != WireType::kBytes && reader.type() != WireType::kVarint) return absl::OkStatus();
      return ForEachVarint(reader, add_one);
  }
}

absl::Status ReadRaw(WireReader reader, Raw* raw) {
  while (reader.Next()) {
    const uint32_t field = reader.field();
    const bool is_bytes = reader.type() == WireType::kBytes;
    switch (field) {
      case kDType:
        if (reader.type() == WireType::kVarint) raw->dtype = static_cast<int32_t>(reader.varint());
        break;
      case kShape:
        if (is_bytes) SLUICE_RETURN_IF_ERROR(ReadShapeProto(reader.Message(), &raw->shape));
        break;
      case kContent:
        if (is_bytes) raw->content = reader.bytes();
        raw->has_content = !raw->content.empty();
        break;
      case kStringVal:
      case kResourceVal:
      case kVariantVal:
        if (is_bytes) ++raw->num_values[field];
        break;
      default:
        if (field >= kFloatVal && field <= kUInt64Val) {
          SLUICE_RETURN_IF_ERROR(CountNumbers(reader, &raw->num_values[field]));
        }
    }
  }
  return reader.status();
}

absl::Status DTypeError(int32_t number) {
  const DType dtype = DTypeFromNumber(number);
  ErrorBuilder error = Error(ErrorCode::kTensorDType);
  error.Expected("a dtype that tensors have");
  if (number == 0) return error.Text("the tensor has no dtype");
  if (dtype == DType::kInvalid) return error.Text(absl::StrCat("dtype ", number, " is not known"));
  error.Found(DTypeName(dtype));
  if (IsRef(dtype)) return error.Text("a tensor in a file cannot be a reference to a variable");
  return error.Text(absl::StrCat("dtype ", DTypeName(dtype), " is known but not supported"));
}

absl::StatusOr<Shape> CheckShape(const RawShape& raw, size_t offset) {
  const auto error = [offset] { return Error(ErrorCode::kTensorShape).AtByte(static_cast<int64_t>(offset)); };
  if (raw.unknown_rank) return error().Text("the shape of the tensor has an unknown rank");
  for (size_t axis = 0; axis < raw.dims.size(); ++axis) {
    if (raw.dims[axis] >= 0) continue;
    return error()
        .Found(absl::StrCat("dimension ", raw.dims[axis]))
        .Expected("0 or more")
        .Text(absl::StrCat("dimension ", axis, " of the tensor has the size ", raw.dims[axis]));
  }
  absl::StatusOr<Shape> shape = Shape::Make(raw.dims);
  if (!shape.ok()) {
    return error().Found("more elements than can be counted").Text("the number of elements of the tensor overflows");
  }
  return shape;
}

absl::Status ContentSizeError(const Parsed& parsed, absl::string_view expected) {
  return Error(ErrorCode::kTensorContent)
      .Found(absl::StrCat(parsed.content.size(), " bytes"))
      .Expected(absl::StrCat(expected, " for ", TypeText(parsed)))
      .Text("tensor_content does not fit the tensor's dtype and shape");
}

// Checks the lengths of a string or variant tensor's content and adds the memory of long strings.
absl::Status CheckListContent(Parsed* parsed) {
  const int64_t size = static_cast<int64_t>(parsed->content.size());
  const int64_t num_elements = parsed->shape.num_elements();
  if (num_elements > size) return ContentSizeError(*parsed, absl::StrCat(num_elements, " lengths and their bytes"));
  ContentLengths lengths(parsed->content);
  int64_t total = 0;
  for (int64_t i = 0; i < num_elements; ++i) {
    uint32_t length;
    if (!lengths.Next(&length))
      return ContentSizeError(*parsed, absl::StrCat(num_elements, " lengths and their bytes"));
    total += length;
    if (length > TString::kSmallCapacity) parsed->memory_bytes += length;
  }
  const int64_t lengths_size = lengths.position() - parsed->content.data();
  if (total != size - lengths_size) {
    return ContentSizeError(*parsed, absl::StrCat(lengths_size, " bytes of lengths and ", total, " bytes"));
  }
  parsed->num_values = num_elements;
  return absl::OkStatus();
}

absl::Status CheckContent(Parsed* parsed) {
  if (parsed->dtype == DType::kString || parsed->dtype == DType::kVariant) return CheckListContent(parsed);
  if (parsed->dtype == DType::kResource) {
    return Error(ErrorCode::kTensorContent).Text("resource handles cannot stand in tensor_content");
  }
  const int64_t expected = parsed->shape.num_elements() * static_cast<int64_t>(DTypeSize(parsed->dtype));
  if (expected != static_cast<int64_t>(parsed->content.size())) {
    return ContentSizeError(*parsed, absl::StrCat(expected, " bytes"));
  }
  parsed->num_values = parsed->shape.num_elements();
  if (parsed->dtype != DType::kBool) return absl::OkStatus();
  for (const char value : parsed->content) {
    if (static_cast<uint8_t>(value) <= 1) continue;
    return Error(ErrorCode::kTensorContent)
        .Found(absl::StrCat("byte ", static_cast<int>(static_cast<uint8_t>(value))))
        .Expected("0 or 1")
        .Text("tensor_content of a bool tensor holds another byte than 0 and 1");
  }
  return absl::OkStatus();
}

// Adds the heap memory of strings beyond 22 characters, those of the padding included.
absl::Status AddStringMemory(Parsed* parsed) {
  const int64_t num_elements = parsed->shape.num_elements();
  int64_t index = 0;
  int64_t last = 0;
  SLUICE_RETURN_IF_ERROR(ForEachElement(*parsed, [&](absl::string_view text, size_t) {
    last = text.size() > TString::kSmallCapacity ? static_cast<int64_t>(text.size()) : 0;
    if (index++ < num_elements) parsed->memory_bytes += last;  // At most the size of the file.
    return absl::OkStatus();
  }));
  int64_t padding;
  if (index >= num_elements || last == 0) return absl::OkStatus();
  if (!CheckedMul(num_elements - index, last, &padding) ||
      !CheckedAdd(parsed->memory_bytes, padding, &parsed->memory_bytes)) {
    parsed->memory_bytes = INT64_MAX;
  }
  return absl::OkStatus();
}

absl::Status CheckHandle(WireReader reader) {
  while (reader.Next()) {
    if (reader.tag() != WireTag(kHandleElements, WireType::kBytes)) continue;
    int32_t dtype = 0;
    WireReader element = reader.Message();
    while (element.Next()) {
      if (element.tag() == WireTag(kElementDType, WireType::kVarint)) dtype = static_cast<int32_t>(element.varint());
      if (element.tag() == WireTag(kElementShape, WireType::kBytes)) {
        SLUICE_RETURN_IF_ERROR(DecodeShapeProto(element.bytes(), element.payload_offset()).status());
      }
    }
    SLUICE_RETURN_IF_ERROR(element.status());
    if (!IsSupported(DTypeFromNumber(dtype))) return DTypeError(dtype);
  }
  return reader.status();
}

absl::Status CheckHandles(const Parsed& parsed) {
  if (parsed.num_values > parsed.shape.num_elements()) {
    return Error(ErrorCode::kTensorValue)
        .Found(absl::StrCat(parsed.num_values, " handles"))
        .Expected(absl::StrCat("at most ", parsed.shape.num_elements(), " for ", TypeText(parsed)))
        .Text("there are more resource handles than elements");
  }
  WireReader reader(parsed.bytes, parsed.base_offset);
  while (reader.Next()) {
    if (reader.tag() != WireTag(kResourceVal, WireType::kBytes)) continue;
    SLUICE_RETURN_IF_ERROR(CheckHandle(reader.Message()));
  }
  return absl::OkStatus();
}

absl::Status TooLarge(const Parsed& parsed, const LoadLimits& limits) {
  const std::string size =
      parsed.memory_bytes == INT64_MAX ? "bytes beyond counting" : absl::StrCat(parsed.memory_bytes, " bytes");
  return Error(ErrorCode::kTensorTooLarge)
      .Found(size)
      .Limit("max_tensor_bytes", limits.max_tensor_bytes)
      .Text(absl::StrCat(TypeText(parsed), " needs too much memory"));
}

absl::Status CheckMemory(Parsed* parsed, const LoadLimits& limits) {
  const int64_t element_bytes = static_cast<int64_t>(DTypeSize(parsed->dtype));
  if (!CheckedMul(parsed->shape.num_elements(), element_bytes, &parsed->memory_bytes)) {
    parsed->memory_bytes = INT64_MAX;
  }
  return parsed->memory_bytes > limits.max_tensor_bytes ? TooLarge(*parsed, limits) : absl::OkStatus();
}

// Inspects the insides of all variants of `root`, and theirs, and adds their memory.
absl::Status InspectNested(const Parsed& root, const LoadLimits& limits, int64_t* memory_bytes) {
  struct Pending {
    Parsed tensor;
    int depth;
  };
  std::vector<Pending> pending;
  pending.push_back({root, 1});
  while (!pending.empty()) {
    const Pending current = std::move(pending.back());
    pending.pop_back();
    const auto inspect = [&](absl::string_view bytes, size_t offset) -> absl::Status {
      SLUICE_ASSIGN_OR_RETURN(const ParsedVariant variant, ParseVariant(WireReader(bytes, offset)));
      for (const NestedTensor& nested : variant.tensors) {
        if (current.depth >= limits.max_nesting / kMessagesPerVariant) return NestingError(limits);
        SLUICE_ASSIGN_OR_RETURN(Parsed parsed, ParseTensor(nested.bytes, nested.base_offset, limits));
        *memory_bytes += parsed.memory_bytes + kObjectBytes;  // Neither is above the limit by much: no overflow.
        if (*memory_bytes > limits.max_tensor_bytes) return TooLarge(parsed, limits);
        if (parsed.dtype == DType::kVariant) pending.push_back({std::move(parsed), current.depth + 1});
      }
      return absl::OkStatus();
    };
    SLUICE_RETURN_IF_ERROR(ForEachElement(current.tensor, inspect));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Parsed> ParseTensor(absl::string_view bytes, size_t base_offset, const LoadLimits& limits) {
  Raw raw;
  SLUICE_RETURN_IF_ERROR(ReadRaw(WireReader(bytes, base_offset), &raw));
  Parsed parsed;
  parsed.bytes = bytes;
  parsed.base_offset = base_offset;
  parsed.dtype = DTypeFromNumber(raw.dtype);
  if (!IsSupported(parsed.dtype)) return DTypeError(raw.dtype);
  SLUICE_ASSIGN_OR_RETURN(parsed.shape, CheckShape(raw.shape, base_offset));
  SLUICE_RETURN_IF_ERROR(CheckMemory(&parsed, limits));
  parsed.has_content = raw.has_content;
  parsed.content = raw.content;
  if (parsed.has_content) {
    SLUICE_RETURN_IF_ERROR(CheckContent(&parsed));
  } else {
    parsed.num_values = raw.num_values[ValueField(parsed.dtype)];
    if (IsComplex(parsed.dtype)) parsed.num_values /= 2;
    if (parsed.dtype == DType::kString) SLUICE_RETURN_IF_ERROR(AddStringMemory(&parsed));
    if (parsed.dtype == DType::kResource) SLUICE_RETURN_IF_ERROR(CheckHandles(parsed));
  }
  // At most one per two bytes of the message, so this does not overflow.
  if (parsed.dtype == DType::kResource || parsed.dtype == DType::kVariant) {
    parsed.memory_bytes += parsed.num_values * kObjectBytes;
  }
  if (parsed.memory_bytes > limits.max_tensor_bytes) return TooLarge(parsed, limits);
  return parsed;
}

absl::StatusOr<ParsedVariant> ParseVariant(WireReader reader) {
  ParsedVariant variant;
  while (reader.Next()) {
    if (reader.type() != WireType::kBytes) continue;
    if (reader.field() == kVariantTypeName) variant.type_name = reader.bytes();
    if (reader.field() == kVariantMetadata) variant.metadata = reader.bytes();
    if (reader.field() == kVariantTensors) variant.tensors.push_back({reader.bytes(), reader.payload_offset()});
  }
  SLUICE_RETURN_IF_ERROR(reader.status());
  return variant;
}

absl::Status NestingError(const LoadLimits& limits) {
  return Error(ErrorCode::kLimitDepth)
      .Limit("max_nesting", limits.max_nesting)
      .Text("variants hold tensors that hold variants beyond the allowed depth");
}

}  // namespace tensor_proto

absl::StatusOr<TensorProtoInfo> InspectTensorProto(absl::string_view bytes, const LoadLimits& limits,
                                                   size_t base_offset) {
  SLUICE_ASSIGN_OR_RETURN(tensor_proto::Parsed parsed, tensor_proto::ParseTensor(bytes, base_offset, limits));
  TensorProtoInfo info;
  info.dtype = parsed.dtype;
  info.memory_bytes = parsed.memory_bytes;
  info.is_splat = parsed.num_values <= 1;
  if (parsed.dtype == DType::kVariant) {
    SLUICE_RETURN_IF_ERROR(tensor_proto::InspectNested(parsed, limits, &info.memory_bytes));
  }
  info.shape = std::move(parsed.shape);
  return info;
}

}  // namespace sluice
