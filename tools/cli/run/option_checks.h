#ifndef SLUICE_TOOLS_CLI_RUN_OPTION_CHECKS_H_
#define SLUICE_TOOLS_CLI_RUN_OPTION_CHECKS_H_

#include <string>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sluice {

// Checks for CLI::Option::check. A refused value is wrong use, and a short message says why.

// Refuses the empty text that an unset shell variable leaves: "--trace ''" would otherwise be no --trace at all.
CLI::Validator NotEmpty();

// For CLI::Option::transform: removes blanks around each name of a list (--fetch 'a, b').
CLI::Validator WithoutBlanks();

// A number from `least` to `most`, and not NaN.
CLI::Validator NumberIn(double least, double most);

// Reads a time from `text`, the value of `option`: "500ms", "2s", "1h30m"; infinite if empty. kValueSyntax unless it
// has a unit and is longer than 0.
absl::StatusOr<absl::Duration> ReadTime(absl::string_view option, const std::string& text);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_OPTION_CHECKS_H_
