#ifndef SLUICE_TOOLS_CLI_DRAW_DRAWING_TITLE_H_
#define SLUICE_TOOLS_CLI_DRAW_DRAWING_TITLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// Titles a drawing of the model `source` (a path, or "-"): the name of the file or directory, after that of its parent
// if the name alone is generic: "mobilenet/1", "mobilenet/saved_model".
std::string DrawingTitle(absl::string_view source);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_DRAWING_TITLE_H_
