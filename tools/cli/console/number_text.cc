#include "tools/cli/console/number_text.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice {

std::string CountText(int64_t count) {
  std::string digits = absl::StrCat(count);
  for (auto pos = static_cast<int64_t>(digits.size()) - 3; pos > (count < 0 ? 1 : 0); pos -= 3) {
    digits.insert(static_cast<size_t>(pos), ",");
  }
  return digits;
}

std::string CountOf(int64_t count, absl::string_view what) {
  return absl::StrCat(CountText(count), " ", what, count == 1 ? "" : "s");
}

std::string BytesText(int64_t bytes) {
  if (bytes < 1000) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  absl::string_view unit = "";
  for (const absl::string_view next : {"kB", "MB", "GB", "TB"}) {
    value /= 1000;
    unit = next;
    if (value < 999.95) break;
  }
  return absl::StrFormat("%.1f %s", value, unit);
}

}  // namespace sluice
