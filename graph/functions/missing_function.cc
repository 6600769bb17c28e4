#include "graph/functions/missing_function.h"

#include <optional>

#include "graph/base/error.h"

namespace sluice {

absl::Status InBody(const absl::Status& status) {
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value() || info->code != ErrorCode::kFunctionUnknown) return status;
  info->code = ErrorCode::kFunctionMissing;
  return MakeError(*info);
}

}  // namespace sluice
