#ifndef SLUICE_GRAPH_WIRE_PACKED_FIELDS_H_
#define SLUICE_GRAPH_WIRE_PACKED_FIELDS_H_

// Repeated numbers: a writer may pack them into one length-delimited field or give each a field of its own, and a
// reader has to take both. Each function here is called once per field of that number; it calls `fn` for each value
// the field holds, in order, and returns kFileWire / kFileTruncated when the packed form is malformed (values before
// the fault have been handed out by then). A field of any other wire type holds no values.
//
//   case 5: SLUICE_RETURN_IF_ERROR(ForEachFixed32(reader, [&](uint32_t bits) { floats.push_back(bits); }));

#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/wire/wire_reader.h"

namespace sluice {

// The error for packed values that end in the middle of one.
absl::Status PackedFieldError(const WireReader& field, absl::string_view what);

namespace wire_internal {

// Reads one varint at *p and advances. False at a varint that is cut or longer than 10 bytes.
inline bool ReadPackedVarint(const char** p, const char* end, uint64_t* value) {
  uint64_t result = 0;
  for (int shift = 0; shift < 70 && *p != end; shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(*(*p)++);
    result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      return true;
    }
  }
  return false;
}

template <typename T, typename Fn>
absl::Status ForEachFixed(const WireReader& field, absl::string_view what, Fn&& fn) {
  const absl::string_view bytes = field.bytes();
  if (bytes.size() % sizeof(T) != 0) return PackedFieldError(field, what);
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    fn(value);
  }
  return absl::OkStatus();
}

}  // namespace wire_internal

// Calls fn(uint64_t) for each varint of the field. Signed values are their two's complement.
template <typename Fn>
absl::Status ForEachVarint(const WireReader& field, Fn&& fn) {
  if (field.type() == WireType::kVarint) {
    fn(field.varint());
    return absl::OkStatus();
  }
  const absl::string_view bytes = field.bytes();
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  while (p != end) {
    uint64_t value = static_cast<uint8_t>(*p);
    if (value < 0x80) {
      ++p;
    } else if (!wire_internal::ReadPackedVarint(&p, end, &value)) {
      return PackedFieldError(field, "varints");
    }
    fn(value);
  }
  return absl::OkStatus();
}

// Calls fn(uint32_t) / fn(uint64_t) for each little-endian fixed number of the field.
template <typename Fn>
absl::Status ForEachFixed32(const WireReader& field, Fn&& fn) {
  if (field.type() == WireType::kFixed32) {
    fn(field.fixed32());
    return absl::OkStatus();
  }
  return wire_internal::ForEachFixed<uint32_t>(field, "32-bit numbers", fn);
}

template <typename Fn>
absl::Status ForEachFixed64(const WireReader& field, Fn&& fn) {
  if (field.type() == WireType::kFixed64) {
    fn(field.fixed64());
    return absl::OkStatus();
  }
  return wire_internal::ForEachFixed<uint64_t>(field, "64-bit numbers", fn);
}

}  // namespace sluice

#endif  // SLUICE_GRAPH_WIRE_PACKED_FIELDS_H_
