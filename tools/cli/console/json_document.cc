#include "tools/cli/console/json_document.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

bool IsPlain(char c) { return (c >= 0x20 && c < 0x7f) || c == '\n'; }

// The bytes of the UTF-8 character that begins with `first`.
size_t CharacterBytes(char first) {
  const auto lead = static_cast<unsigned char>(first);
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

void AppendEscape(absl::string_view character, std::string* out) {
  uint32_t code = static_cast<unsigned char>(character[0]);
  if (character.size() > 1) code &= 0x7fu >> character.size();
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  if (code < 0x10000) {
    absl::StrAppendFormat(out, "\\u%04x", code);
    return;
  }
  code -= 0x10000;
  absl::StrAppendFormat(out, "\\u%04x\\u%04x", 0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

}  // namespace

std::string EscapedJson(absl::string_view dumped) {
  std::string out;
  out.reserve(dumped.size());
  while (!dumped.empty()) {
    const auto plain_end = std::find_if_not(dumped.begin(), dumped.end(), &IsPlain);
    const auto plain = static_cast<size_t>(plain_end - dumped.begin());
    out.append(dumped.data(), plain);
    dumped.remove_prefix(plain);
    if (dumped.empty()) break;
    const absl::string_view character = dumped.substr(0, CharacterBytes(dumped[0]));
    if (PrintableName(character) == character) {
      out.append(character.data(), character.size());
    } else {
      AppendEscape(character, &out);
    }
    dumped.remove_prefix(character.size());
  }
  return out;
}

std::string JsonDocument(const nlohmann::ordered_json& json, int indent) {
  return EscapedJson(json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n";
}

}  // namespace sluice
