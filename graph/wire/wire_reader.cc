#include "graph/wire/wire_reader.h"

#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

constexpr int kMaxVarintBytes = 10;
constexpr int kMaxTagBytes = 5;
constexpr int kMaxLengthBytes = 5;
// Protobuf's own bound: a length must leave room in an int.
constexpr uint64_t kMaxLength = (uint64_t{1} << 31) - 1;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are loaded as they stand in the file");

template <typename T>
T LoadLittleEndian(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

}  // namespace

bool WireReader::Fail(Fault fault, const char* where) {
  fault_ = fault;
  field_begin_ = where;
  ptr_ = end_;
  return false;
}

bool WireReader::ReadVarint(uint64_t* value) {
  const char* const start = ptr_;
  uint64_t result = 0;
  for (int i = 0; i < kMaxVarintBytes; ++i) {
    if (ptr_ == end_) return Fail(Fault::kTruncated, start);
    const uint8_t byte = static_cast<uint8_t>(*ptr_++);
    result |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *value = result;
      return true;
    }
  }
  return Fail(Fault::kVarint, start);
}

bool WireReader::ReadTag() {
  const char* const start = ptr_;
  uint64_t tag = 0;
  if (!ReadVarint(&tag)) return false;
  tag_ = static_cast<uint32_t>(tag);  // Bits beyond 32 in the fifth byte are dropped, as protobuf does.
  if (ptr_ - start > kMaxTagBytes || field() == 0) return Fail(Fault::kTag, start);
  return true;
}

bool WireReader::ReadPayload() {
  const size_t left = static_cast<size_t>(end_ - ptr_);
  switch (type()) {
    case WireType::kVarint:
      return ReadVarint(&scalar_);
    case WireType::kFixed64:
      if (left < 8) return Fail(Fault::kTruncated, field_begin_);
      scalar_ = LoadLittleEndian<uint64_t>(ptr_);
      ptr_ += 8;
      return true;
    case WireType::kFixed32:
      if (left < 4) return Fail(Fault::kTruncated, field_begin_);
      scalar_ = LoadLittleEndian<uint32_t>(ptr_);
      ptr_ += 4;
      return true;
    case WireType::kBytes: {
      const char* const length = ptr_;
      uint64_t size = 0;
      if (!ReadVarint(&size)) return false;
      if (size > kMaxLength || ptr_ - length > kMaxLengthBytes) return Fail(Fault::kLength, field_begin_);
      return TakeBytes(ptr_, static_cast<size_t>(size));
    }
    default:
      return Fail(Fault::kWireType, field_begin_);
  }
}

bool WireReader::SkipGroup() {
  const char* const start = field_begin_;
  const uint32_t group_tag = tag_;
  absl::InlinedVector<uint32_t, 8> open = {field()};  // Field numbers of the groups that are still open.
  while (!open.empty()) {
    if (ptr_ == end_) return Fail(Fault::kTruncated, start);
    field_begin_ = ptr_;
    if (!ReadTag()) return false;
    if (type() == WireType::kGroup) {
      if (open.size() >= kMaxGroupDepth) return Fail(Fault::kGroupDepth, field_begin_);
      open.push_back(field());
    } else if (type() == WireType::kEndGroup) {
      if (open.back() != field()) return Fail(Fault::kEndGroup, field_begin_);
      open.pop_back();
    } else if (!ReadPayload()) {
      return false;
    }
  }
  field_begin_ = start;
  tag_ = group_tag;
  return true;
}

bool WireReader::NextSlow() {
  if (!ReadTag()) return false;
  if (type() == WireType::kGroup) return SkipGroup();
  if (type() == WireType::kEndGroup) return Fail(Fault::kEndGroup, field_begin_);
  return ReadPayload();
}

absl::Status WireReader::status() const {
  if (ok()) return absl::OkStatus();
  const int64_t at = static_cast<int64_t>(offset());
  const char* text = "";
  switch (fault_) {
    case Fault::kTruncated:
      return Error(ErrorCode::kFileTruncated)
          .AtByte(at)
          .Text(absl::StrCat("the field at byte ", at, " runs past the end of its message at byte ",
                             base_offset_ + static_cast<size_t>(end_ - begin_)));
    case Fault::kVarint:
      text = "a varint longer than 10 bytes";
      break;
    case Fault::kTag:
      text = "a field tag outside the legal range";
      break;
    case Fault::kWireType:
      text = "a wire type that does not exist (6 or 7)";
      break;
    case Fault::kLength:
      text = "a length prefix beyond 2^31 - 1";
      break;
    case Fault::kEndGroup:
      text = "an end-group tag that closes no open group";
      break;
    case Fault::kGroupDepth:
      text = "unknown groups nested deeper than 100";
      break;
    case Fault::kNone:
      break;
  }
  return Error(ErrorCode::kFileWire).AtByte(at).Text(absl::StrCat("not protobuf: ", text));
}

}  // namespace sluice
