#ifndef SLUICE_TOOLS_CLI_DRAW_JSON_TEXT_H_
#define SLUICE_TOOLS_CLI_DRAW_JSON_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// Appends `text` as a JSON string that may stand in a <script> element. Line feeds stay; other control characters,
// bytes that are not UTF-8 and marks that are invisible or turn the direction of text are written out ("\\x1b", as the
// terminal shows them), and '<' is escaped.
void AppendJsonText(absl::string_view text, std::string* out);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_JSON_TEXT_H_
