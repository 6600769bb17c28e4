#ifndef SLUICE_GRAPH_WIRE_WIRE_READER_H_
#define SLUICE_GRAPH_WIRE_WIRE_READER_H_

// Walks the fields of one protobuf message in its binary form, without copying and without allocating.
//
//   WireReader reader(bytes);
//   while (reader.Next()) {
//     switch (reader.tag()) {
//       case WireTag(1, WireType::kBytes): name = reader.bytes(); break;
//       case WireTag(5, WireType::kBytes): SLUICE_RETURN_IF_ERROR(ReadAttr(reader.Message())); break;
//       default: break;  // Unknown field, or a known one with another wire type: skipped, as protobuf does.
//     }
//   }
//   if (!reader.ok()) return reader.status();

#include <cstddef>
#include <cstdint>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

// How a field's payload is stored. kGroup stands for a whole well-formed group.
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroup = 3, kEndGroup = 4, kFixed32 = 5 };

// The tag of `field` stored as `type`: what stands before the payload in the file; made for `case` labels.
constexpr uint32_t WireTag(uint32_t field, WireType type) { return field << 3 | static_cast<uint32_t>(type); }

// A cursor over the fields of one message. Borrows the bytes, which must outlive it and all views it hands out.
// What is accepted is what protobuf accepts: any field order, unknown fields and groups, varints of up to 10 bytes.
// After an error Next() stays false and ok() is false. Copyable; copies are independent.
// Thread-safety: none; many readers may walk the same bytes.
class WireReader {
 public:
  // Groups inside groups that are still skipped.
  static constexpr int kMaxGroupDepth = 100;

  // `base_offset` is where `bytes` begins in the file: offsets and errors count from the file's start.
  explicit WireReader(absl::string_view bytes, size_t base_offset = 0)
      : begin_(bytes.data()),
        ptr_(bytes.data()),
        end_(bytes.data() + bytes.size()),
        field_begin_(bytes.data()),
        base_offset_(base_offset) {}

  // Advances to the next field. False at the end and at the first error.
  bool Next() {
    if (ABSL_PREDICT_FALSE(ptr_ == end_)) return false;
    field_begin_ = ptr_;
    const uint8_t first = static_cast<uint8_t>(*ptr_);
    // The hot path: a one-byte tag of a length-delimited field with a length below 16,384, or of a varint below 128.
    if (ABSL_PREDICT_TRUE(first < 0x80 && first >= 8 && end_ - ptr_ >= 2)) {
      const uint8_t second = static_cast<uint8_t>(ptr_[1]);
      tag_ = first;
      if ((first & 7) == static_cast<uint8_t>(WireType::kBytes)) {
        if (ABSL_PREDICT_TRUE(second < 0x80)) return TakeBytes(ptr_ + 2, second);
        if (end_ - ptr_ >= 3 && static_cast<uint8_t>(ptr_[2]) < 0x80) {
          return TakeBytes(ptr_ + 3, (second & 0x7fu) | static_cast<size_t>(static_cast<uint8_t>(ptr_[2])) << 7);
        }
      } else if ((first & 7) == static_cast<uint8_t>(WireType::kVarint) && second < 0x80) {
        scalar_ = second;
        ptr_ += 2;
        return true;
      }
    }
    return NextSlow();
  }

  // False after malformed input.
  bool ok() const { return fault_ == Fault::kNone; }

  // OK, or kFileWire / kFileTruncated with the byte offset of the fault.
  absl::Status status() const;

  // The current field. REQUIRES (all of these): the last Next() returned true.
  uint32_t tag() const { return tag_; }
  uint32_t field() const { return tag_ >> 3; }
  WireType type() const { return static_cast<WireType>(tag_ & 7); }

  // The payload. Each is meaningful only for its own type(); none reads memory outside the message for another.
  uint64_t varint() const { return scalar_; }
  uint64_t fixed64() const { return scalar_; }
  uint32_t fixed32() const { return static_cast<uint32_t>(scalar_); }
  absl::string_view bytes() const {
    return type() == WireType::kBytes ? absl::string_view(payload_, static_cast<size_t>(ptr_ - payload_))
                                      : absl::string_view();
  }

  // A reader for the message in bytes(), whose offsets continue ours.
  WireReader Message() const { return WireReader(bytes(), payload_offset()); }

  // Tag and payload as they stand in the file: appending raw() of every field gives the message again.
  absl::string_view raw() const { return absl::string_view(field_begin_, static_cast<size_t>(ptr_ - field_begin_)); }

  // Where the current field's tag stands in the file, where the bytes() of a kBytes field do, and where it ends.
  size_t offset() const { return base_offset_ + static_cast<size_t>(field_begin_ - begin_); }
  size_t payload_offset() const { return base_offset_ + static_cast<size_t>(payload_ - begin_); }
  size_t end_offset() const { return base_offset_ + static_cast<size_t>(ptr_ - begin_); }

 private:
  enum class Fault : uint8_t { kNone, kTruncated, kVarint, kTag, kWireType, kLength, kEndGroup, kGroupDepth };

  bool TakeBytes(const char* payload, size_t size) {
    if (ABSL_PREDICT_FALSE(size > static_cast<size_t>(end_ - payload))) return Fail(Fault::kTruncated, field_begin_);
    payload_ = payload;
    ptr_ = payload + size;
    return true;
  }

  // Next() for long tags, long varints, fixed fields, groups and everything near the end.
  bool NextSlow();
  // Reads one payload of the type in tag_; ptr_ stands behind the tag.
  bool ReadPayload();
  // Skips to behind the end of the group opened by tag_.
  bool SkipGroup();
  bool ReadTag();
  bool ReadVarint(uint64_t* value);
  bool Fail(Fault fault, const char* where);

  const char* begin_;
  const char* ptr_;  // Behind the current field.
  const char* end_;
  const char* field_begin_;
  const char* payload_ = nullptr;  // Of a kBytes field.
  uint64_t scalar_ = 0;            // Of a varint or fixed field.
  size_t base_offset_;
  uint32_t tag_ = 0;
  Fault fault_ = Fault::kNone;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_WIRE_WIRE_READER_H_
