#include "kernels/strings/unicode/utf8.h"

namespace sluice {
namespace {

// What the second byte after `lead` may be.
struct TrailRange {
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
};

TrailRange SecondByte(uint8_t lead) {
  switch (lead) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {};
  }
}

}  // namespace

DecodedRune DecodeUtf8(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return {};
  const size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  uint32_t rune = lead & (0xFFu >> (size + 1));
  TrailRange range = SecondByte(lead);
  for (size_t i = 1; i < size; ++i) {
    if (i >= text.size() || byte(i) < range.low || byte(i) > range.high) {
      return {kReplacementRune, static_cast<int>(i), false};
    }
    rune = rune << 6 | (byte(i) & 0x3F);
    range = TrailRange();
  }
  return {rune, static_cast<int>(size), true};
}

int WriteUtf8(uint32_t rune, char* to) {
  const auto tail = [rune](int shift) { return static_cast<char>(0x80 | (rune >> shift & 0x3F)); };
  if (rune < 0x80) {
    to[0] = static_cast<char>(rune);
    return 1;
  }
  if (rune < 0x800) {
    to[0] = static_cast<char>(0xC0 | rune >> 6);
    to[1] = tail(0);
    return 2;
  }
  if (rune < 0x10000) {
    to[0] = static_cast<char>(0xE0 | rune >> 12);
    to[1] = tail(6);
    to[2] = tail(0);
    return 3;
  }
  to[0] = static_cast<char>(0xF0 | rune >> 18);
  to[1] = tail(12);
  to[2] = tail(6);
  to[3] = tail(0);
  return 4;
}

void AppendUtf8(uint32_t rune, std::string* out) {
  char bytes[4];
  out->append(bytes, static_cast<size_t>(WriteUtf8(rune, bytes)));
}

}  // namespace sluice
