#ifndef SLUICE_TOOLS_CLI_CONSOLE_ERROR_JSON_H_
#define SLUICE_TOOLS_CLI_CONSOLE_ERROR_JSON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "nlohmann/json.hpp"

namespace sluice {

// The facts of one error: {"code":"SLC4005","canonical":"INVALID_ARGUMENT","message":...,"node":...,"op":...}. Unknown
// facts are left out; "code" is there for errors of Sluice only.
nlohmann::ordered_json ErrorJson(const absl::Status& status);

// The facts of `errors`, those of one cause once: as ErrorJson of the first, with "count", "ops" and "also", the facts
// of the next few that differ ([{"node":"b","line":7},...]). With `all` each error is an entry of its own, its count 1.
nlohmann::ordered_json ErrorsJson(absl::Span<const absl::Status> errors, bool all = false);

// The document that a command with --json writes if it fails before it has results:
// {"command":"run","num_errors":2,"errors":[...],"hints":["feed it, for example:",...]}, ending in a newline. Each of
// `problems` may stand for several errors.
std::string FailureDocument(absl::string_view command, absl::Span<const absl::Status> problems,
                            absl::Span<const std::string> hints);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONSOLE_ERROR_JSON_H_
