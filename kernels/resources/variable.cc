#include "kernels/resources/variable.h"

#include "absl/strings/str_cat.h"

namespace sluice {

std::string VariableResource::DebugString() const {
  const Tensor value = cell_.Read();
  const std::string state = value.has_value() ? value.shape().ToString() : "not set";
  return absl::StrCat(type_name(), " ", DTypeName(dtype()), " ", state);
}

int64_t VariableResource::MemoryUsed() const {
  const Tensor value = cell_.Read();
  return value.has_value() ? static_cast<int64_t>(value.total_bytes()) : 0;
}

}  // namespace sluice
