#ifndef SLUICE_GRAPH_LOAD_TEXT_MODEL_H_
#define SLUICE_GRAPH_LOAD_TEXT_MODEL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/limits.h"
#include "graph/load/format.h"

namespace sluice {

// A model that was read from text: the same message in binary form, and where its nodes stood in the text.
struct TextModel {
  std::string binary;
  // Of each graph in the file (a SavedModel may have several): line and column, from 1, of each node, in order.
  std::vector<std::vector<std::pair<int32_t, int32_t>>> node_places;
};

// Reads the protobuf text form of `format` (a text format). Errors, all that protobuf finds: kFileText with line and
// column, kLimitDepth for messages nested deeper than limits.max_nesting.
absl::StatusOr<TextModel> ParseTextModel(absl::string_view text, GraphFormat format, const LoadLimits& limits);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_TEXT_MODEL_H_
