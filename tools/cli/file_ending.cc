#include "tools/cli/file_ending.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"

namespace sluice {

absl::string_view FileEnding(absl::string_view path) {
  const size_t slash = path.rfind('/');
  const absl::string_view name = slash == absl::string_view::npos ? path : path.substr(slash + 1);
  const size_t point = name.rfind('.');
  return point == absl::string_view::npos || point == 0 ? absl::string_view() : name.substr(point);
}

CLI::Validator EndsIn(std::vector<std::string> endings, std::string what) {
  const auto check = [endings = std::move(endings), what = std::move(what)](std::string& path) -> std::string {
    const std::string ending = absl::AsciiStrToLower(FileEnding(path));
    if (ending.empty() || std::find(endings.begin(), endings.end(), ending) != endings.end()) return "";
    return absl::StrCat("'", PrintableName(path), "' does not end in ", absl::StrJoin(endings, " or "), ": this is ",
                        what);
  };
  return CLI::Validator(check, "");
}

}  // namespace sluice
