#include "tools/cli/draw/json_text.h"

#include "absl/strings/str_split.h"
#include "graph/base/error.h"

namespace sluice {

void AppendJsonText(absl::string_view text, std::string* out) {
  out->push_back('"');
  bool is_first = true;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!is_first) out->append("\\n");
    is_first = false;
    for (const char c : PrintableName(line, std::string::npos)) {
      if (c == '"' || c == '\\') {
        out->push_back('\\');
        out->push_back(c);
      } else if (c == '<') {
        out->append("\\u003c");
      } else {
        out->push_back(c);
      }
    }
  }
  out->push_back('"');
}

}  // namespace sluice
