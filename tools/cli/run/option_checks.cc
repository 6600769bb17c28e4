#include "tools/cli/run/option_checks.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {

CLI::Validator NotEmpty() {
  return CLI::Validator([](std::string& text) { return std::string(text.empty() ? "the value is empty" : ""); }, "");
}

CLI::Validator WithoutBlanks() {
  const auto strip = [](std::string& text) {
    text = std::string(absl::StripAsciiWhitespace(text));
    return std::string();
  };
  return CLI::Validator(strip, "");
}

CLI::Validator NumberIn(double least, double most) {
  const auto check = [least, most](std::string& text) -> std::string {
    double number = 0;
    if (absl::SimpleAtod(text, &number) && number >= least && number <= most) return "";
    return absl::StrCat("Value ", text, " not in range ", least, " to ", most);
  };
  return CLI::Validator(check, "");
}

absl::StatusOr<absl::Duration> ReadTime(absl::string_view option, const std::string& text) {
  if (text.empty()) return absl::InfiniteDuration();
  absl::Duration time;
  const bool is_time = absl::ParseDuration(text, &time);
  if (is_time && time > absl::ZeroDuration()) return time;
  double number = 0;
  const absl::string_view problem = is_time                           ? "is not longer than 0"
                                    : absl::SimpleAtod(text, &number) ? "has no unit (ns, us, ms, s, m, h)"
                                                                      : "is not a time";
  return Error(ErrorCode::kValueSyntax)
      .Help(absl::StrCat("write ", option, " 500ms, 2s or 1m30s"))
      .Text(absl::StrCat(option, " '", PrintableName(text), "' ", problem));
}

}  // namespace sluice
