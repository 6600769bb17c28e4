#ifndef SLUICE_GRAPH_BASE_ERROR_CODE_OF_H_
#define SLUICE_GRAPH_BASE_ERROR_CODE_OF_H_

#include <optional>

#include "absl/status/status.h"
#include "graph/base/error.h"

namespace sluice {

// The number of the error, for programs that act on its kind; `sluice explain` has a text for each. kForeign if Sluice
// did not make `status`; unset if it is OK.
//
//   if (ErrorCodeOf(loss.Backward()) == ErrorCode::kTapeFreed) ...
inline std::optional<ErrorCode> ErrorCodeOf(const absl::Status& status) {
  if (status.ok()) return std::nullopt;
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  return info.has_value() ? info->code : ErrorCode::kForeign;
}

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_ERROR_CODE_OF_H_
