#include "tools/cli/report/example_value.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace sluice {

std::string ExampleFeedValue(DType dtype, const PartialShape& shape) {
  const bool is_scalar = shape.rank() <= 0;  // Also of unknown rank.
  const bool has_random = IsFloating(dtype) || IsInteger(dtype);
  if (is_scalar) {
    if (dtype == DType::kString) return "'\"text\"'";
    return dtype == DType::kBool ? "true" : "1";
  }
  std::string text;
  for (const int64_t dim : shape.dims()) absl::StrAppend(&text, std::max<int64_t>(dim, 1), "x");
  if (dtype == DType::kString) return absl::StrCat("'", text, "string=\"text\"'");
  return absl::StrCat(text, DTypeName(dtype), has_random ? "=random:7" : dtype == DType::kBool ? "=true" : "=0");
}

}  // namespace sluice
