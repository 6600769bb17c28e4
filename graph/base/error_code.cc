#include "graph/base/error_code.h"

#include <algorithm>
#include <array>

#include "graph/base/error_code_rows_file.h"
#include "graph/base/error_code_rows_kernel.h"
#include "graph/base/error_code_rows_node.h"
#include "graph/base/error_code_rows_run.h"
#include "graph/base/error_code_rows_tape.h"

namespace sluice {
namespace {

// The rows of all `parts` one after the other, put together by the compiler.
template <size_t... kSizes>
constexpr auto Concatenate(const ErrorCodeRow (&... parts)[kSizes]) {
  std::array<ErrorCodeRow, (kSizes + ...)> all{};
  size_t next = 0;
  const auto append = [&all, &next](const auto& part) {
    for (const ErrorCodeRow& row : part) all[next++] = row;
  };
  (append(parts), ...);
  return all;
}

constexpr auto kAllRows = Concatenate(kFileRows, kNodeRows, kKernelRows, kControlFlowRows, kRunRows, kStepRows,
                                      kStateRows, kResourceRows, kLimitRows, kTapeRows, kOwnRows);

constexpr bool IsAscending() {
  for (size_t i = 1; i < kAllRows.size(); ++i) {
    if (kAllRows[i - 1].code >= kAllRows[i].code) return false;
  }
  return true;
}
static_assert(IsAscending(), "rows must stand in ascending order, one per code");

}  // namespace

absl::Span<const ErrorCodeRow> AllErrorCodes() { return kAllRows; }

const ErrorCodeRow* FindErrorCode(int32_t code) {
  const auto row = std::lower_bound(kAllRows.begin(), kAllRows.end(), code,
                                    [](const ErrorCodeRow& a, int32_t b) { return static_cast<int32_t>(a.code) < b; });
  return row != kAllRows.end() && static_cast<int32_t>(row->code) == code ? &*row : nullptr;
}

}  // namespace sluice
