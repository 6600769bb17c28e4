#ifndef SLUICE_TOOLS_CLI_FILE_ENDING_H_
#define SLUICE_TOOLS_CLI_FILE_ENDING_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/strings/string_view.h"

namespace sluice {

// Returns the ending of the file name in `path`, with its dot: ".pb"; empty if it has none.
absl::string_view FileEnding(absl::string_view path);

// A check for CLI::Option::check of an option that names an output file: accepts names that end in one of `endings` or
// have no ending; else the complaint names the content (`what`: "an SVG drawing").
CLI::Validator EndsIn(std::vector<std::string> endings, std::string what);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_FILE_ENDING_H_
