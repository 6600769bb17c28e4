#include "executor/session/fed_value.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {

absl::Status WrongFeed(absl::string_view endpoint, DType dtype, const PartialShape& shape, const Tensor& value) {
  if (value.dtype() != BaseType(dtype)) {
    return Error(ErrorCode::kFeedType)
        .Found(DTypeName(value.dtype()))
        .Expected(DTypeName(BaseType(dtype)))
        .Text(absl::StrCat("feed '", endpoint, "' has the wrong dtype"));
  }
  return Error(ErrorCode::kFeedShape)
      .Found(value.shape().ToString())
      .Expected(shape.ToString())
      .Text(absl::StrCat("feed '", endpoint, "' has the wrong shape"));
}

}  // namespace sluice
