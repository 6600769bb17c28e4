#ifndef SLUICE_TOOLS_CLI_CONSOLE_JSON_DOCUMENT_H_
#define SLUICE_TOOLS_CLI_CONSOLE_JSON_DOCUMENT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace sluice {

// `json` as a document that ends in a newline. Bytes that are not UTF-8 become U+FFFD, and characters unsafe on a
// terminal (control characters, invisible marks) become \u escapes: every command writes its JSON with it. `indent` is
// that of each level; -1: all on one line.
std::string JsonDocument(const nlohmann::ordered_json& json, int indent = 2);

// The JSON text `dumped`, which is valid UTF-8, with such characters as \u escapes. They can stand in strings only.
std::string EscapedJson(absl::string_view dumped);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONSOLE_JSON_DOCUMENT_H_
