#ifndef SLUICE_GRAPH_LOAD_TEXT_ERRORS_H_
#define SLUICE_GRAPH_LOAD_TEXT_ERRORS_H_

#include <google/protobuf/descriptor.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

// Turns an error of protobuf's parser about `text`, a message of type `root`, into a kFileText error: says what is
// wrong in our own words, with line and column, the names allowed there and the nearest of them.
// `line` and `column` are the parser's: counted from 0, a tab leads to the next multiple of 8.
absl::Status DescribeTextError(const google::protobuf::Descriptor& root, absl::string_view text, int line, int column,
                               absl::string_view message);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_TEXT_ERRORS_H_
