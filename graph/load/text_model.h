#ifndef SLUICE_GRAPH_LOAD_TEXT_MODEL_H_
#define SLUICE_GRAPH_LOAD_TEXT_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/limits.h"
#include "graph/ir/source_file.h"
#include "graph/load/format.h"

namespace sluice {

// A place in a text, both counted from 1.
struct TextPlace {
  int32_t line = 0;
  int32_t column = 0;
};

// Where the nodes of one graph stand in its text, in the order of the file.
struct GraphPlaces {
  struct Function {
    TextPlace place;
    std::vector<TextPlace> nodes;
  };
  std::vector<TextPlace> nodes;
  std::vector<Function> functions;
};

// A model that was read from text: the same message in binary form, and where its nodes stood in the text.
struct TextModel {
  std::string binary;
  std::vector<GraphPlaces> graphs;  // Of each graph in the file: a SavedModel may have several.
};

// Reads the protobuf text form of `format` (a text format). Errors, all that protobuf finds: kFileText with line and
// column, kLimitDepth for messages nested deeper than limits.max_nesting.
absl::StatusOr<TextModel> ParseTextModel(absl::string_view text, GraphFormat format, const LoadLimits& limits);

// Which bytes of `graph_def`, the binary form of one graph of a TextModel, came from which place.
std::vector<LineMark> MarkLines(absl::string_view graph_def, const GraphPlaces& places);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_TEXT_MODEL_H_
