#ifndef SLUICE_TOOLS_CLI_VERSION_H_
#define SLUICE_TOOLS_CLI_VERSION_H_

#include "absl/strings/string_view.h"

namespace sluice {

// Semantic version of the program and its library.
inline constexpr absl::string_view kVersion = "0.1.0";

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_VERSION_H_
