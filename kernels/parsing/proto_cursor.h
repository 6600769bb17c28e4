#ifndef SLUICE_KERNELS_PARSING_PROTO_CURSOR_H_
#define SLUICE_KERNELS_PARSING_PROTO_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace sluice {

// Reads a message whose fields are expected in a certain form, as TensorFlow's fast parsers do: what stands there in
// another form, though protobuf would take it, is an error. (For all that protobuf takes there is graph/wire.) Borrows
// the bytes. Each Take gives false where the bytes are not so, and then the place is undefined.
class ProtoCursor {
 public:
  explicit ProtoCursor(absl::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool AtEnd() const { return at_ == end_; }
  size_t size() const { return static_cast<size_t>(end_ - at_); }

  // The tag of a length-delimited field `field`, one byte.
  static constexpr uint8_t BytesTag(uint8_t field) { return static_cast<uint8_t>(field << 3 | 2); }

  bool StandsAt(uint8_t tag) const { return at_ != end_ && static_cast<uint8_t>(*at_) == tag; }
  bool TakeTag(uint8_t tag) {
    if (!StandsAt(tag)) return false;
    ++at_;
    return true;
  }
  // Reads up to ten bytes and keeps the lowest 64 bits.
  bool TakeVarint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 70 && at_ != end_; shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(*at_++);
      if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool TakeVarint32(uint32_t* value) {
    uint64_t wide = 0;
    const bool is_good = TakeVarint(&wide);
    *value = static_cast<uint32_t>(wide);
    return is_good;
  }
  // A length and so many bytes.
  bool TakeBytes(absl::string_view* bytes) {
    uint32_t length = 0;
    if (!TakeVarint32(&length) || length > size()) return false;
    *bytes = absl::string_view(at_, length);
    at_ += length;
    return true;
  }
  // The same for a message; one that claims to be longer than what is left is what is left, as in TensorFlow.
  bool TakeMessage(absl::string_view* bytes) {
    uint32_t length = 0;
    if (!TakeVarint32(&length)) return false;
    *bytes = absl::string_view(at_, length < size() ? length : size());
    at_ += bytes->size();
    return true;
  }
  template <typename T>
  bool TakeFixed(T* value) {
    if (size() < sizeof(T)) return false;
    std::memcpy(value, at_, sizeof(T));
    at_ += sizeof(T);
    return true;
  }
  // A field of any kind but a group; one that is longer than the message ends it.
  bool SkipField() {
    uint32_t tag = 0, length = 0;
    uint64_t number = 0;
    if (!TakeVarint32(&tag)) return false;
    switch (tag & 7) {
      case 0:
        return TakeVarint(&number);
      case 1:
        return TakeFixed(&number);
      case 2:
        if (!TakeVarint32(&length)) return false;
        at_ += length < size() ? length : size();
        return true;
      case 5:
        return TakeFixed(&length);
      default:
        return false;
    }
  }

 private:
  const char* at_;
  const char* end_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_PARSING_PROTO_CURSOR_H_
