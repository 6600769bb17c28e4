#include "tools/cli/draw/gradient_scope.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace sluice {
namespace {

bool IsGradientScope(absl::string_view scope) {
  if (scope == "gradient_tape") return true;
  if (!absl::ConsumePrefix(&scope, "gradients")) return false;
  if (scope.empty()) return true;
  return absl::ConsumePrefix(&scope, "_") && !scope.empty() && std::all_of(scope.begin(), scope.end(), [](char c) {
           return absl::ascii_isdigit(static_cast<unsigned char>(c));
         });
}

}  // namespace

bool IsInGradientScope(absl::string_view node) {
  for (size_t end = node.find('/'); end != absl::string_view::npos; end = node.find('/')) {
    if (IsGradientScope(node.substr(0, end))) return true;
    node.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace sluice
