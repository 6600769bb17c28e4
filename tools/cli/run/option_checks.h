#ifndef SLUICE_TOOLS_CLI_RUN_OPTION_CHECKS_H_
#define SLUICE_TOOLS_CLI_RUN_OPTION_CHECKS_H_

#include "CLI/App.hpp"

namespace sluice {

// Checks for CLI::Option::check. What they refuse is wrong use, and the message says why in short words.

// Refuses the empty text that an unset shell variable leaves: "--trace ''" would otherwise be no --trace at all.
CLI::Validator NotEmpty();

// A number from `least` to `most`; NaN is none.
CLI::Validator NumberIn(double least, double most);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_OPTION_CHECKS_H_
