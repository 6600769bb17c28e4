#ifndef SLUICE_GRAPH_BASE_ERROR_TEXT_H_
#define SLUICE_GRAPH_BASE_ERROR_TEXT_H_

// Parts of the texts of errors. Used inside of graph/base only.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"

namespace sluice {

// 1849022 as "1,849,022".
std::string GroupedDigits(int64_t value);

// " at line 12, column 9" or " at byte 12": the place in the first line. Empty if a node or the text shows the place.
std::string PlaceText(const ErrorInfo& info);

// The many-line form of `error`, which has facts (see FormatError): its message without the place, then what is known.
// `first` is added to the place ("'m.pb', node 3: 'x'") and `also` is a line of further places; both may be empty.
std::string FormatErrorLines(const absl::Status& error, absl::string_view first = "", absl::string_view also = "");

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_ERROR_TEXT_H_
