#ifndef SLUICE_GRAPH_VALUE_TSTRING_H_
#define SLUICE_GRAPH_VALUE_TSTRING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/string_view.h"

namespace sluice {

// One element of a string tensor: any bytes. Has the layout of TensorFlow's TF_TString, so that programs written for
// its C API read and write elements in place. 24 bytes, little endian; the two low bits of the first byte are the kind:
//
//   0 small   byte 0: size << 2; bytes 1 to 23: up to 22 characters and a zero byte
//   1 large   u64 size << 2 | 1; u64 capacity; char* from malloc, zero-terminated: owned
//   2 offset  u32 size << 2 | 2; u32 distance from this object to the characters; u32 count: not owned
//   3 view    u64 size << 2 | 3; const char*: not owned
//
// All zero bytes are the empty string. We make small and large ones, and views only by ViewOf; views and offset ones,
// left by a C client, are read, and become small or large when they are copied or written to.
// Ownership: owns what it makes. Throws std::bad_alloc when memory is short, as standard containers do (kernels'
// callers turn that into a status). Thread-safety: like std::string.
class TString {
 public:
  static constexpr size_t kSmallCapacity = 22;

  TString() { std::memset(&rep_, 0, sizeof(rep_)); }
  explicit TString(absl::string_view text) : TString() { assign(text); }
  // A view of the caller's text, which must outlive this string and those that it is moved to; up to 22 characters are
  // copied in place. Copies own their text. Does not throw. REQUIRES: fewer than 2^60 characters.
  static TString ViewOf(absl::string_view text) {
    TString made;
    if (text.size() <= kSmallCapacity) {
      made.assign(text);
    } else {
      made.rep_.view.size = static_cast<uint64_t>(text.size()) << 2 | static_cast<uint64_t>(Kind::kView);
      made.rep_.view.text = text.data();
    }
    return made;
  }
  TString(const TString& other) : TString() { assign(other.view()); }
  TString(TString&& other) noexcept : TString() { Take(other); }
  TString& operator=(const TString& other) {
    if (this != &other) assign(other.view());
    return *this;
  }
  TString& operator=(TString&& other) noexcept {
    if (this != &other) Take(other);
    return *this;
  }
  TString& operator=(absl::string_view text) {
    assign(text);
    return *this;
  }
  ~TString() {
    if (kind() == Kind::kLarge) FreeLarge();
  }

  size_t size() const {
    switch (kind()) {
      case Kind::kSmall:
        return rep_.raw[0] >> 2;
      case Kind::kOffset:
        return rep_.offset.size >> 2;
      default:
        return rep_.large.size >> 2;  // A view has its size in the same place.
    }
  }
  bool empty() const { return size() == 0; }
  const char* data() const {
    switch (kind()) {
      case Kind::kSmall:
        return rep_.small.text;
      case Kind::kLarge:
        return rep_.large.text;
      case Kind::kOffset:
        return reinterpret_cast<const char*>(this) + rep_.offset.distance;
      default:
        return rep_.view.text;
    }
  }
  absl::string_view view() const { return {data(), size()}; }
  // How many characters fit without a new allocation; 0 for text that is not ours.
  size_t capacity() const {
    if (kind() == Kind::kSmall) return kSmallCapacity;
    return kind() == Kind::kLarge ? static_cast<size_t>(rep_.large.capacity) : 0;
  }

  // Replaces the text. `text` may be a part of this string.
  void assign(absl::string_view text);
  // `text` may be a part of this string.
  void append(absl::string_view text);
  // Keeps the first `size` characters; those beyond the old size are uninitialised. Returns the characters, writable.
  char* ResizeUninitialized(size_t size);
  // The characters, writable: text that is not ours is copied first.
  char* mutable_data();
  void clear() { assign(absl::string_view()); }

  friend bool operator==(const TString& a, const TString& b) { return a.view() == b.view(); }
  friend bool operator!=(const TString& a, const TString& b) { return a.view() != b.view(); }
  friend bool operator<(const TString& a, const TString& b) { return a.view() < b.view(); }

 private:
  enum class Kind : uint8_t { kSmall = 0, kLarge = 1, kOffset = 2, kView = 3 };

  union Rep {
    uint8_t raw[24];
    struct {
      uint8_t size;
      char text[23];
    } small;
    struct {
      uint64_t size;
      uint64_t capacity;
      char* text;
    } large;
    struct {
      uint32_t size;
      uint32_t distance;
      uint32_t count;
    } offset;
    struct {
      uint64_t size;
      const char* text;
    } view;
  };

  Kind kind() const { return static_cast<Kind>(rep_.raw[0] & 3); }
  bool IsOwned() const { return kind() == Kind::kSmall || kind() == Kind::kLarge; }
  // Sets size and zero byte of owned text and returns it. REQUIRES: IsOwned(), size <= capacity().
  char* SetSize(size_t size);
  // Gives an empty small string room for `size` characters, and for `spare` more if it needs a block anyway.
  char* Allocate(size_t size, size_t spare);
  void FreeLarge();
  // Takes over the other's text and leaves it empty.
  void Take(TString& other) noexcept {
    if (other.kind() == Kind::kOffset) {  // Its distance is relative to this object.
      assign(other.view());
    } else {
      if (kind() == Kind::kLarge) FreeLarge();
      rep_ = other.rep_;
    }
    std::memset(&other.rep_, 0, sizeof(rep_));
  }

  Rep rep_;
};

static_assert(sizeof(TString) == 24 && alignof(TString) == 8, "the layout is TensorFlow's");

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_TSTRING_H_
