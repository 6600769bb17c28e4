#ifndef SLUICE_GRAPH_BASE_ERROR_INFO_CODEC_H_
#define SLUICE_GRAPH_BASE_ERROR_INFO_CODEC_H_

// The payloads of our statuses: protobuf wire bytes, written and read by hand, because graph/base stands below both
// graph/wire and protobuf. graph/proto/error_info.proto describes the same bytes for programs outside.
//
// Field numbers are the positions of ErrorInfo's members, from 1. Numbers that are absent (-1) and empty texts are
// not written. A list of errors is {1: {1: canonical code, 2: message, 3: info}..., 2: total number}.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"

namespace sluice {

// Key of the payload that holds the facts of one error.
inline constexpr absl::string_view kErrorInfoUrl = "sluice.rt/ErrorInfo";
// Key of the payload that holds all errors of one load.
inline constexpr absl::string_view kErrorListUrl = "sluice.rt/ErrorList";

std::string EncodeErrorInfo(const ErrorInfo& info);

// The facts in `bytes`; no value if they are malformed. Skips unknown fields.
std::optional<ErrorInfo> DecodeErrorInfo(absl::string_view bytes);

// The errors of a load, and how many there were in all (those not kept included).
struct ErrorList {
  std::vector<absl::Status> errors;
  int64_t total = 0;
};

std::string EncodeErrorList(const ErrorList& list);

// The list in `bytes`, each error with its own facts as payload; no value if they are malformed.
std::optional<ErrorList> DecodeErrorList(absl::string_view bytes);

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_ERROR_INFO_CODEC_H_
