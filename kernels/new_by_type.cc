#include "kernels/new_by_type.h"

#include "graph/base/error.h"

namespace sluice {

absl::Status NoSuchType(DType dtype) {
  return Error(ErrorCode::kInternal).Found(DTypeName(dtype)).Text("the kernel's row and its C++ types differ");
}

}  // namespace sluice
