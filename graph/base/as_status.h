#ifndef SLUICE_GRAPH_BASE_AS_STATUS_H_
#define SLUICE_GRAPH_BASE_AS_STATUS_H_

// Catches exceptions. Our own code throws none on purpose, but memory runs out, libraries throw, and a check of ours
// may fail (check.h). Each public entry point runs its work in AsStatus, so that the caller gets a status and the
// process continues:
//
//   absl::StatusOr<Graph> ImportGraph(...) {
//     return AsStatus([&]() -> absl::StatusOr<Graph> { ... });
//   }
//
// Opens a CheckScope: an increment per call. Meant for whole calls (an import, a prepare, a run), not for nodes.

#include <utility>

#include "absl/status/status.h"
#include "graph/base/check.h"
#include "graph/base/error_code.h"

namespace sluice {

// The status for the exception that is being handled: kOutOfMemory for std::bad_alloc and std::length_error,
// kInternal with the text for a failed check, and `others` with the text for all others. Never throws.
// REQUIRES: called from a catch block.
absl::Status StatusOfCaught(ErrorCode others = ErrorCode::kInternal) noexcept;

// kOutOfMemory; made without memory if there is none.
absl::Status OutOfMemoryError() noexcept;

// Logs the exception that is being handled, which `where` has thrown and which ends here. Never throws.
// REQUIRES: called from a catch block.
void LogCaught(const char* where) noexcept;

// Calls `work`, which returns an absl::Status or absl::StatusOr, and turns what it throws into a status.
template <typename Work>
auto AsStatus(Work&& work) -> decltype(std::forward<Work>(work)()) {
  const CheckScope scope;
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    return StatusOfCaught();
  }
}

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_AS_STATUS_H_
