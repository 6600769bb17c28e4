#include "graph/ir/tensor_id.h"

#include <limits>

#include "absl/strings/ascii.h"

namespace sluice {

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
  bool begins_part = true;
  bool may_be_underscore = internal;
  for (const char c : name) {
    const unsigned char u = static_cast<unsigned char>(c);
    const bool may_begin = absl::ascii_isalnum(u) || c == '.';
    if (begins_part) {
      if (!may_begin && !(may_be_underscore && c == '_')) return false;
      begins_part = may_be_underscore = false;
    } else if (c == '>') {
      begins_part = true;
    } else if (!may_begin && c != '_' && c != '-' && c != '/') {
      return false;
    }
  }
  return !begins_part;
}

}  // namespace sluice
