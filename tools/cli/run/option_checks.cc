#include "tools/cli/run/option_checks.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sluice {

CLI::Validator NotEmpty() {
  return CLI::Validator([](std::string& text) { return std::string(text.empty() ? "the value is empty" : ""); }, "");
}

CLI::Validator NumberIn(double least, double most) {
  const auto check = [least, most](std::string& text) -> std::string {
    double number = 0;
    if (absl::SimpleAtod(text, &number) && number >= least && number <= most) return "";
    return absl::StrCat("Value ", text, " not in range ", least, " to ", most);
  };
  return CLI::Validator(check, "");
}

}  // namespace sluice
