#include "graph/ir/tensor_id.h"

#include <array>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"

namespace sluice {
namespace {

// What a character may be in a part of a node's name.
constexpr uint8_t kInName = 1, kBeginsPart = 2;

constexpr std::array<uint8_t, 256> MakeCharClasses() {
  std::array<uint8_t, 256> classes = {};
  for (const auto& [first, last] :
       {std::pair('a', 'z'), std::pair('A', 'Z'), std::pair('0', '9'), std::pair('.', '.')}) {
    for (int c = first; c <= last; ++c) classes[static_cast<size_t>(c)] = kInName | kBeginsPart;
  }
  for (const char c : {'_', '-', '/'}) classes[static_cast<size_t>(c)] = kInName;
  return classes;
}

constexpr std::array<uint8_t, 256> kCharClasses = MakeCharClasses();

// Whether `name`, which begins well, is parts joined by '>'.
bool HasGoodParts(absl::string_view name) {
  bool begins_part = false;
  for (const char c : name.substr(1)) {
    const uint8_t char_class = kCharClasses[static_cast<unsigned char>(c)];
    if (begins_part ? (char_class & kBeginsPart) == 0 : char_class == 0 && c != '>') return false;
    begins_part = c == '>';
  }
  return !begins_part;
}

}  // namespace

TensorId ParseTensorId(absl::string_view text) {
  if (!text.empty() && text.front() == '^') return {text.substr(1), kControlIndex};
  // Digits from the end up to a ':'; without one (or with a number that is too large) all of it is the name.
  int64_t index = 0, scale = 1;
  for (size_t at = text.size(); at-- > 0;) {
    const char c = text[at];
    if (c == ':' && at > 0 && at + 1 < text.size()) return {text.substr(0, at), static_cast<int32_t>(index)};
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c)) || scale > 1'000'000'000) break;
    index += (c - '0') * scale;
    scale *= 10;
    if (index > std::numeric_limits<int32_t>::max()) break;
  }
  return {text, 0};
}

bool IsValidNodeName(absl::string_view name, bool internal) {
  if (name.empty()) return false;
  const auto class_at = [&name](size_t i) { return kCharClasses[static_cast<unsigned char>(name[i])]; };
  // Of all characters at once: names of one part, nearly all, need no more.
  uint8_t all = kInName;
  for (size_t i = 0; i < name.size(); ++i) all &= class_at(i);
  const bool begins_well = (class_at(0) & kBeginsPart) != 0 || (internal && name[0] == '_');
  if (!begins_well || all == 0) return begins_well && HasGoodParts(name);
  return true;
}

}  // namespace sluice
