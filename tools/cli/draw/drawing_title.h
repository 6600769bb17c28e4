#ifndef SLUICE_TOOLS_CLI_DRAW_DRAWING_TITLE_H_
#define SLUICE_TOOLS_CLI_DRAW_DRAWING_TITLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// What a drawing of the model `source` (a path, or "-") is called: the name of the file or directory, with the
// directory above where the name alone says nothing: "mobilenet/1", "mobilenet/saved_model".
std::string DrawingTitle(absl::string_view source);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_DRAWING_TITLE_H_
