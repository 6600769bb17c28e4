// PrintableName: names from files in a form that is safe on a terminal and in a log.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

constexpr uint32_t kInvalid = 0xffffffff;

// One code point and the bytes it takes; an invalid byte counts as one.
struct Rune {
  uint32_t code = kInvalid;
  size_t bytes = 1;
};

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Reads the code point at the start of `text`. REQUIRES: text is not empty.
Rune FirstRune(absl::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length) return {};
  uint32_t code = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[length] || code > 0x10ffff || surrogate) return {};
  return {code, length};
}

// Control characters, marks that are invisible or turn the direction of the text around them, and code points that
// never are characters, which no XML may hold.
bool MustEscape(uint32_t code) {
  if ((code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef)) return true;
  if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad) return true;
  return code == 0x61c || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe0fff);
}

void AppendEscaped(Rune rune, absl::string_view bytes, std::string* out) {
  if (rune.code == kInvalid || (rune.code < 0x80 && MustEscape(rune.code))) {
    if (rune.code == '\n') {
      out->append("\\n");
    } else if (rune.code == '\t') {
      out->append("\\t");
    } else {
      absl::StrAppendFormat(out, "\\x%02x", static_cast<unsigned char>(bytes[0]));
    }
  } else if (MustEscape(rune.code)) {
    absl::StrAppendFormat(out, "\\u%04x", rune.code);
  } else {
    out->append(bytes.data(), rune.bytes);
  }
}

// Escapes from the start of `text` and stops before `max_bytes` of output are exceeded.
std::string EscapeHead(absl::string_view text, size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    const Rune rune = FirstRune(text);
    const size_t before = out.size();
    AppendEscaped(rune, text, &out);
    if (out.size() > max_bytes) {
      out.resize(before);
      break;
    }
    text.remove_prefix(rune.bytes);
  }
  return out;
}

// The end of `text`, escaped, in at most `max_bytes`.
std::string EscapeTail(absl::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) text.remove_prefix(text.size() - max_bytes);
  for (int i = 0; i < 3 && !text.empty() && IsContinuation(text[0]); ++i) text.remove_prefix(1);
  std::string out;
  std::vector<size_t> starts;  // Where each code point begins in `out`.
  while (!text.empty()) {
    const Rune rune = FirstRune(text);
    starts.push_back(out.size());
    AppendEscaped(rune, text, &out);
    text.remove_prefix(rune.bytes);
  }
  for (const size_t start : starts) {
    if (out.size() - start <= max_bytes) return out.substr(start);
  }
  return "";
}

}  // namespace

std::string PrintableName(absl::string_view text, size_t max_bytes) {
  constexpr absl::string_view kGap = "...";
  if (text.size() <= max_bytes) {
    std::string whole = EscapeHead(text, text.size() * 6);
    if (whole.size() <= max_bytes) return whole;
  }
  if (max_bytes <= kGap.size()) return EscapeHead(text, max_bytes);
  const size_t head = (max_bytes - kGap.size() + 1) / 2;
  return absl::StrCat(EscapeHead(text, head), kGap, EscapeTail(text, max_bytes - kGap.size() - head));
}

}  // namespace sluice
