#ifndef SLUICE_TESTS_FUZZ_PROMISE_H_
#define SLUICE_TESTS_FUZZ_PROMISE_H_

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"

namespace sluice {

// Ends the process unless `holds`: `what` was promised and is not so. The text is what crashes are told apart by.
inline void Promise(bool holds, absl::string_view what, absl::string_view detail = "") {
  if (holds) return;
  std::fprintf(stderr, "Broken promise: %.*s\n%.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(detail.size()), detail.data());
  std::abort();
}

// An error that a user can do something with: one of ours, with a text.
inline void PromiseUsefulError(const absl::Status& status) {
  Promise(ErrorInfoOf(status).has_value(), "an error has facts", status.ToString());
  Promise(!FormatError(status).empty() && !FormatError(status, true).empty(), "an error has a text");
}

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_PROMISE_H_
