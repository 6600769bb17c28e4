#ifndef SLUICE_GRAPH_BASE_ERROR_GROUPS_H_
#define SLUICE_GRAPH_BASE_ERROR_GROUPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/base/error.h"

namespace sluice {

// Errors of one cause in many places.
struct ErrorGroup {
  absl::Status first;
  int64_t count = 0;              // Of all errors of the group, the first included.
  std::vector<std::string> ops;   // Of their nodes, each once, in order of appearance; at most kMaxOps.
  std::vector<ErrorInfo> others;  // The next errors; at most kMaxOthers.

  static constexpr size_t kMaxOps = 8;
  static constexpr size_t kMaxOthers = 5;
  // Fewer errors of one cause are not grouped: they are better read one by one.
  static constexpr int64_t kMinCount = 3;
};

// How many errors `status` stands for, those not kept included; 0 when it is OK.
int64_t CountErrors(const absl::Status& status);

// Groups `errors` by cause: code, text, input, attr, found, expected, help and, unless the code is about misplaced ops,
// the op. In the order of their first errors.
std::vector<ErrorGroup> GroupErrors(absl::Span<const absl::Status> errors);

// The form that users read (see FormatError) of a whole group: how many, of which ops, where the first ones are.
std::string FormatErrorGroup(const ErrorGroup& group);

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_ERROR_GROUPS_H_
