#ifndef SLUICE_EXECUTOR_TAPE_AXIS_H_
#define SLUICE_EXECUTOR_TAPE_AXIS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "executor/tape/var.h"

namespace sluice {

// Returns the axis of x that `axis` means, which may count from the end. A scalar has one axis here, number 0. Errors:
// that of x; kTapeUndefined; kOpShape if x has no such axis.
absl::StatusOr<int32_t> AxisOf(absl::string_view op, const Var& x, int32_t axis);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_AXIS_H_
