#include "graph/value/resource_handle.h"

#include "absl/strings/str_cat.h"

namespace sluice {

std::string ResourceHandle::DebugString() const {
  if (!has_value()) return "no resource";
  std::string text = absl::StrCat("resource ", data().container, "/", data().name);
  if (!data().maybe_type_name.empty()) absl::StrAppend(&text, " of type ", data().maybe_type_name);
  if (!data().device.empty()) absl::StrAppend(&text, " on ", data().device);
  return text;
}

}  // namespace sluice
