#ifndef SLUICE_GRAPH_LOAD_ERROR_PLACES_H_
#define SLUICE_GRAPH_LOAD_ERROR_PLACES_H_

#include <cstdint>

#include "absl/status/status.h"

namespace sluice {

// `status`, found in a part of a file, with its byte ranges (those of all its errors) counted from the start of the
// file, where the part begins at `base_offset`. With a negative offset the bytes do not stand in the file: their ranges
// are dropped.
absl::Status CountFromFileStart(const absl::Status& status, int64_t base_offset);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_ERROR_PLACES_H_
