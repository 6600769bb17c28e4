#ifndef SLUICE_TOOLS_CLI_CONSOLE_NUMBER_TEXT_H_
#define SLUICE_TOOLS_CLI_CONSOLE_NUMBER_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// "1,234".
std::string CountText(int64_t count);

// "1 node", "1,234 nodes".
std::string CountOf(int64_t count, absl::string_view what);

// "812 B", "5.1 MB": powers of 1,000, one decimal.
std::string BytesText(int64_t bytes);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONSOLE_NUMBER_TEXT_H_
