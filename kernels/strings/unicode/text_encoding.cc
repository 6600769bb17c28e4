#include "kernels/strings/unicode/text_encoding.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "kernels/strings/unicode/unicode.h"

namespace sluice {
namespace {

struct EncodingName {
  absl::string_view name;  // Letters and digits only, in lower case.
  TextEncoding encoding;
};

constexpr EncodingName kNames[] = {
    {"utf8", TextEncoding::kUtf8},          {"unicode11utf8", TextEncoding::kUtf8},
    {"cp1208", TextEncoding::kUtf8},        {"ibm1208", TextEncoding::kUtf8},
    {"utf16", TextEncoding::kUtf16},        {"unicode", TextEncoding::kUtf16},
    {"iso10646ucs2", TextEncoding::kUtf16}, {"ucs2", TextEncoding::kUtf16},
    {"csunicode", TextEncoding::kUtf16},    {"utf16be", TextEncoding::kUtf16Be},
    {"xutf16be", TextEncoding::kUtf16Be},   {"utf16le", TextEncoding::kUtf16Le},
    {"xutf16le", TextEncoding::kUtf16Le},   {"utf32", TextEncoding::kUtf32},
    {"iso10646ucs4", TextEncoding::kUtf32}, {"ucs4", TextEncoding::kUtf32},
    {"csucs4", TextEncoding::kUtf32},       {"utf32be", TextEncoding::kUtf32Be},
    {"utf32le", TextEncoding::kUtf32Le},    {"usascii", TextEncoding::kAscii},
    {"ascii", TextEncoding::kAscii},        {"ansix341968", TextEncoding::kAscii},
    {"iso646us", TextEncoding::kAscii},     {"us", TextEncoding::kAscii},
    {"ascii7", TextEncoding::kAscii},       {"cp367", TextEncoding::kAscii},
    {"ibm367", TextEncoding::kAscii},       {"isoir6", TextEncoding::kAscii},
    {"iso88591", TextEncoding::kLatin1},    {"latin1", TextEncoding::kLatin1},
    {"l1", TextEncoding::kLatin1},          {"csisolatin1", TextEncoding::kLatin1},
    {"ibm819", TextEncoding::kLatin1},      {"cp819", TextEncoding::kLatin1},
    {"isoir100", TextEncoding::kLatin1},    {"iso885911987", TextEncoding::kLatin1},
    {"88591", TextEncoding::kLatin1},
};

bool IsLeadSurrogate(uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool IsTrailSurrogate(uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

}  // namespace

bool FindTextEncoding(absl::string_view name, TextEncoding* encoding) {
  std::string plain;
  for (const char c : name) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte)) plain.push_back(absl::ascii_tolower(byte));
  }
  for (const EncodingName& one : kNames) {
    if (one.name != plain) continue;
    *encoding = one.encoding;
    return true;
  }
  return false;
}

RuneReader::RuneReader(TextEncoding encoding, absl::string_view text) : encoding_(encoding), text_(text) {
  constexpr absl::string_view kMark16[] = {"\xFE\xFF", "\xFF\xFE"};
  constexpr absl::string_view kMark32[] = {absl::string_view("\0\0\xFE\xFF", 4), absl::string_view("\xFF\xFE\0\0", 4)};
  if (encoding == TextEncoding::kUtf16) {
    const bool is_little = absl::StartsWith(text, kMark16[1]);
    mark_bytes_ = is_little || absl::StartsWith(text, kMark16[0]) ? 2 : 0;
    encoding_ = is_little ? TextEncoding::kUtf16Le : TextEncoding::kUtf16Be;
  } else if (encoding == TextEncoding::kUtf32) {
    const bool is_little = absl::StartsWith(text, kMark32[1]);
    mark_bytes_ = is_little || absl::StartsWith(text, kMark32[0]) ? 4 : 0;
    encoding_ = is_little ? TextEncoding::kUtf32Le : TextEncoding::kUtf32Be;
  }
  text_.remove_prefix(static_cast<size_t>(mark_bytes_));
}

uint32_t RuneReader::Unit16(size_t at) const {
  const uint32_t first = static_cast<uint8_t>(text_[at]), second = static_cast<uint8_t>(text_[at + 1]);
  return encoding_ == TextEncoding::kUtf16Be ? first << 8 | second : second << 8 | first;
}

DecodedRune RuneReader::DecodeUtf16() const {
  if (text_.size() < 2) return {kReplacementRune, 1, false};
  const uint32_t unit = Unit16(0);
  if (IsTrailSurrogate(unit)) return {kReplacementRune, 2, false};
  if (!IsLeadSurrogate(unit)) return {unit, 2, true};
  if (text_.size() < 4) return {kReplacementRune, static_cast<int>(text_.size()), false};
  const uint32_t next = Unit16(2);
  if (!IsTrailSurrogate(next)) return {kReplacementRune, 2, false};
  return {0x10000 + ((unit & 0x3FF) << 10 | (next & 0x3FF)), 4, true};
}

DecodedRune RuneReader::DecodeUtf32() const {
  if (text_.size() < 4) return {kReplacementRune, static_cast<int>(text_.size()), false};
  uint32_t rune = 0;
  for (size_t i = 0; i < 4; ++i) {
    rune = rune << 8 | static_cast<uint8_t>(text_[encoding_ == TextEncoding::kUtf32Be ? i : 3 - i]);
  }
  if (rune > kMaxRune || (rune >= 0xD800 && rune < 0xE000)) return {kReplacementRune, 4, false};
  return {rune, 4, true};
}

bool RuneReader::Next(DecodedRune* next) {
  if (text_.empty()) {
    // A mark alone is read as U+FFFF, as TensorFlow does.
    *next = {0xFFFF, mark_bytes_, true};
    mark_bytes_ = 0;
    return next->size > 0;
  }
  const uint8_t byte = static_cast<uint8_t>(text_.front());
  switch (encoding_) {
    case TextEncoding::kUtf8:
      *next = DecodeUtf8(text_);
      break;
    case TextEncoding::kUtf16:
    case TextEncoding::kUtf16Be:
    case TextEncoding::kUtf16Le:
      *next = DecodeUtf16();
      break;
    case TextEncoding::kUtf32:
    case TextEncoding::kUtf32Be:
    case TextEncoding::kUtf32Le:
      *next = DecodeUtf32();
      break;
    case TextEncoding::kAscii:
      *next = {byte < 0x80 ? byte : kReplacementRune, 1, byte < 0x80};
      break;
    case TextEncoding::kLatin1:
      *next = {byte, 1, true};
      break;
  }
  text_.remove_prefix(static_cast<size_t>(next->size));
  next->size += mark_bytes_;
  mark_bytes_ = 0;
  return true;
}

void AppendRune(TextEncoding encoding, uint32_t rune, std::string* out) {
  const auto append16 = [out](uint32_t unit) {
    out->push_back(static_cast<char>(unit >> 8));
    out->push_back(static_cast<char>(unit));
  };
  if (encoding == TextEncoding::kUtf8) return AppendUtf8(rune, out);
  if (encoding == TextEncoding::kUtf32Be) {
    append16(rune >> 16);
    append16(rune & 0xFFFF);
  } else if (rune < 0x10000) {  // Surrogates stand for themselves.
    append16(rune);
  } else {
    append16(0xD7C0 + (rune >> 10));
    append16(0xDC00 | (rune & 0x3FF));
  }
}

}  // namespace sluice
