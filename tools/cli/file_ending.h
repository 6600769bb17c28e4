#ifndef SLUICE_TOOLS_CLI_FILE_ENDING_H_
#define SLUICE_TOOLS_CLI_FILE_ENDING_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/strings/string_view.h"

namespace sluice {

// The ending of the file name in `path`, with its point: ".pb"; empty when it has none.
absl::string_view FileEnding(absl::string_view path);

// A check for CLI::Option::check of an option that names an output file: the name ends in one of `endings` or has no
// ending, else the complaint says what is written (`what`: "an SVG drawing").
CLI::Validator EndsIn(std::vector<std::string> endings, std::string what);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_FILE_ENDING_H_
