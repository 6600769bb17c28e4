#include "tools/cli/draw/drawing_title.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace sluice {
namespace {

// Names that every exporter gives, and versions ("1", "1700000000").
bool SaysNothing(absl::string_view name) {
  constexpr absl::string_view kNames[] = {
      "saved_model", "saved_model.pb", "saved_model.pbtxt", "savedmodel", "export", "model", "."};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         std::all_of(name.begin(), name.end(), absl::ascii_isdigit);
}

}  // namespace

std::string DrawingTitle(absl::string_view source) {
  if (source == "-") return "standard input";
  std::vector<absl::string_view> parts = absl::StrSplit(source, '/', absl::SkipEmpty());
  std::string absolute;  // Views of it may be in `parts`.
  const bool is_relative = !source.empty() && source.front() != '/';
  const bool is_generic = std::all_of(parts.begin(), parts.end(), SaysNothing);
  if (is_relative && is_generic) {
    std::error_code error;
    absolute = std::filesystem::absolute(std::string(source), error).lexically_normal().string();
    if (!error) parts = std::vector<absl::string_view>(absl::StrSplit(absolute, '/', absl::SkipEmpty()));
  }
  size_t first = parts.size();
  while (first > 0 && (first == parts.size() || SaysNothing(parts[first]))) --first;
  return absl::StrJoin(parts.begin() + static_cast<std::ptrdiff_t>(first), parts.end(), "/");
}

}  // namespace sluice
