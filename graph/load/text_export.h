#ifndef SLUICE_GRAPH_LOAD_TEXT_EXPORT_H_
#define SLUICE_GRAPH_LOAD_TEXT_EXPORT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// A graph in protobuf's text form.
struct GraphText {
  std::string text;
  int64_t dropped_bytes = 0;  // Of fields that we do not know: they have no text form that could be read again.
};

// The text of a binary GraphDef, with TensorFlow's field names, as its own tools write it. Reading it gives an equal
// graph. kFileWire for damaged bytes.
absl::StatusOr<GraphText> GraphDefToText(absl::string_view graph_def);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_TEXT_EXPORT_H_
