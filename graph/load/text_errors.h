#ifndef SLUICE_GRAPH_LOAD_TEXT_ERRORS_H_
#define SLUICE_GRAPH_LOAD_TEXT_ERRORS_H_

#include <google/protobuf/descriptor.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

// The error (kFileText) for what protobuf's parser says of `text`, a message of type `root`: what is wrong in our
// words, with line and column, the names that are allowed there and the nearest of them.
// `line` and `column` are the parser's: counted from 0, a tab leads to the next multiple of 8.
absl::Status DescribeTextError(const google::protobuf::Descriptor& root, absl::string_view text, int line, int column,
                               absl::string_view message);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_TEXT_ERRORS_H_
