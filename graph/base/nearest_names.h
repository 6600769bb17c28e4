#ifndef SLUICE_GRAPH_BASE_NEAREST_NAMES_H_
#define SLUICE_GRAPH_BASE_NEAREST_NAMES_H_

// "Did you mean ...?"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sluice {

// Of `candidates`, up to `max` that look like `name`, the likeliest first: by edit distance, where a letter in the
// other case is a quarter of an edit and more than one edit per three letters of `name` is too far. Ties keep the
// candidates' order; `name` itself is left out. Empty for names beyond 256 bytes. Takes about 100 ns a candidate.
std::vector<std::string> NearestNames(absl::string_view name, absl::Span<const absl::string_view> candidates,
                                      size_t max);

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_NEAREST_NAMES_H_
