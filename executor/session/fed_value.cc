#include "executor/session/fed_value.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/resource_handle.h"
#include "kernels/step/session_state.h"

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

absl::Status TakeKeptTensor(const SessionState& state, Tensor* value) {
  if (value->dtype() != DType::kResource || value->num_elements() != 1) return absl::OkStatus();
  const ResourceHandle handle = value->flat<ResourceHandle>()[0];
  if (!handle.has_value() || handle.data().container != "TensorHandle") return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(*value, state.Get(handle.data().name));
  return absl::OkStatus();
}

}  // namespace sluice
