#ifndef SLUICE_GRAPH_VALUE_TENSOR_PROTO_FIELDS_H_
#define SLUICE_GRAPH_VALUE_TENSOR_PROTO_FIELDS_H_

// Shared by the reader and the writer of TensorProtos. Internal to tensor_proto.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/limits.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace tensor_proto {

// Field numbers of TensorProto.
enum Field : uint32_t {
  kDType = 1,
  kShape = 2,
  kContent = 4,
  kFloatVal = 5,
  kDoubleVal = 6,
  kIntVal = 7,
  kStringVal = 8,
  kSComplexVal = 9,
  kInt64Val = 10,
  kBoolVal = 11,
  kDComplexVal = 12,
  kHalfVal = 13,
  kResourceVal = 14,
  kVariantVal = 15,
  kUInt32Val = 16,
  kUInt64Val = 17,
};

// Fields of VariantTensorDataProto and ResourceHandleProto.
inline constexpr uint32_t kVariantTypeName = 1, kVariantMetadata = 2, kVariantTensors = 3;
inline constexpr uint32_t kHandleDevice = 1, kHandleContainer = 2, kHandleName = 3, kHandleHashCode = 4,
                          kHandleTypeName = 5, kHandleElements = 6;
inline constexpr uint32_t kElementDType = 1, kElementShape = 2;

// The field that holds the values of `dtype`. REQUIRES: IsSupported(dtype).
inline uint32_t ValueField(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return kFloatVal;
    case DType::kDouble:
      return kDoubleVal;
    case DType::kString:
      return kStringVal;
    case DType::kComplex64:
      return kSComplexVal;
    case DType::kComplex128:
      return kDComplexVal;
    case DType::kInt64:
      return kInt64Val;
    case DType::kBool:
      return kBoolVal;
    case DType::kHalf:
    case DType::kBFloat16:
      return kHalfVal;
    case DType::kResource:
      return kResourceVal;
    case DType::kVariant:
      return kVariantVal;
    case DType::kUInt32:
      return kUInt32Val;
    case DType::kUInt64:
      return kUInt64Val;
    default:
      return kIntVal;
  }
}

// One TensorProto, checked, its values still in `bytes`.
struct Parsed {
  absl::string_view bytes;
  size_t base_offset = 0;
  DType dtype = DType::kInvalid;
  Shape shape;
  bool has_content = false;
  absl::string_view content;
  int64_t num_values = 0;    // Elements written down, surplus ones included.
  int64_t memory_bytes = 0;  // Of this tensor alone.
};

// A TensorProto inside a variant: bytes, and where they stand in the file.
struct NestedTensor {
  absl::string_view bytes;
  size_t base_offset = 0;
};
using NestedTensors = absl::InlinedVector<NestedTensor, 1>;

// One VariantTensorDataProto, its parts still in the file's bytes.
struct ParsedVariant {
  absl::string_view type_name;
  absl::string_view metadata;
  NestedTensors tensors;
};

// Parses and checks one TensorProto, all but the insides of variants.
absl::StatusOr<Parsed> ParseTensor(absl::string_view bytes, size_t base_offset, const LoadLimits& limits);

// Parses one VariantTensorDataProto, all but its tensors.
absl::StatusOr<ParsedVariant> ParseVariant(WireReader reader);

// The error for tensors inside variants inside tensors beyond `limits`.
absl::Status NestingError(const LoadLimits& limits);

// Levels of messages that one level of variants adds: TensorProto and VariantTensorDataProto.
inline constexpr int kMessagesPerVariant = 2;

// Calls fn(absl::string_view element, size_t offset) -> absl::Status for each string or variant written down in
// `parsed`, surplus ones included. REQUIRES: ParseTensor accepted it and dtype is kString or kVariant.
template <typename Fn>
absl::Status ForEachElement(const Parsed& parsed, Fn&& fn);

// The lengths at the front of a string or variant tensor's content: hands them out one by one.
// Thread-safety: none.
class ContentLengths {
 public:
  explicit ContentLengths(absl::string_view content) : p_(content.data()), end_(content.data() + content.size()) {}
  // False if the bytes are not a varint below 2^32.
  bool Next(uint32_t* length) {
    uint64_t value = 0;
    for (int shift = 0; shift < 35 && p_ != end_; shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(*p_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        *length = static_cast<uint32_t>(value);
        return value <= UINT32_MAX;
      }
    }
    return false;
  }
  const char* position() const { return p_; }

 private:
  const char* p_;
  const char* end_;
};

template <typename Fn>
absl::Status ForEachElement(const Parsed& parsed, Fn&& fn) {
  if (!parsed.has_content) {
    const uint32_t tag = WireTag(ValueField(parsed.dtype), WireType::kBytes);
    WireReader reader(parsed.bytes, parsed.base_offset);
    while (reader.Next()) {
      if (reader.tag() != tag) continue;
      if (absl::Status status = fn(reader.bytes(), reader.payload_offset()); !status.ok()) return status;
    }
    return absl::OkStatus();
  }
  ContentLengths skipped(parsed.content);
  uint32_t length = 0;
  for (int64_t i = 0; i < parsed.num_values; ++i) {
    if (!skipped.Next(&length)) break;
  }
  const char* element = skipped.position();
  ContentLengths lengths(parsed.content);
  for (int64_t i = 0; i < parsed.num_values && lengths.Next(&length); ++i) {
    const size_t offset = parsed.base_offset + static_cast<size_t>(element - parsed.bytes.data());
    if (absl::Status status = fn(absl::string_view(element, length), offset); !status.ok()) return status;
    element += length;
  }
  return absl::OkStatus();
}

}  // namespace tensor_proto
}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_TENSOR_PROTO_FIELDS_H_
