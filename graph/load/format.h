#ifndef SLUICE_GRAPH_LOAD_FORMAT_H_
#define SLUICE_GRAPH_LOAD_FORMAT_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// What a file with a graph in it can be.
enum class GraphFormat : uint8_t { kGraphDef, kGraphDefText, kMetaGraph, kMetaGraphText, kSavedModel, kSavedModelText };

// Returns "GraphDef", "GraphDef text", "MetaGraphDef", ..., for messages.
absl::string_view GraphFormatName(GraphFormat format);

constexpr bool IsText(GraphFormat format) {
  return format == GraphFormat::kGraphDefText || format == GraphFormat::kMetaGraphText ||
         format == GraphFormat::kSavedModelText;
}
constexpr bool IsMetaGraph(GraphFormat format) {
  return format == GraphFormat::kMetaGraph || format == GraphFormat::kMetaGraphText;
}
constexpr bool IsSavedModel(GraphFormat format) {
  return format == GraphFormat::kSavedModel || format == GraphFormat::kSavedModelText;
}

// Finds the format of `bytes`. The content decides; `file_name` breaks ties (".meta", "saved_model.pb", ".pbtxt").
// Damaged bytes that still begin like one of the formats are that format; other bytes count as a GraphDef, whose
// importer then says which byte is wrong. Reads a few fields only, whatever the size.
GraphFormat DetectGraphFormat(absl::string_view bytes, absl::string_view file_name);

// Describes bytes that are not a graph, with an article ("a PNG image"); empty if they may be one. Knows images,
// archives, programs, other frameworks' models, checkpoints and the like by their first or last bytes; the data of a
// checkpoint, which begins with anything, by `file_name`.
absl::string_view ForeignFormat(absl::string_view bytes, absl::string_view file_name);

// Describes a file by the ending of its name ("a TFLite model"), or returns "": for files that are not a graph and that
// ForeignFormat does not recognise.
absl::string_view FormatOfEnding(absl::string_view file_name);

// Whether the first bytes contain only characters of texts.
bool LooksLikeText(absl::string_view bytes);

// Whether `bytes` begin as a text does, but not one of a graph: with neither a field nor a comment.
bool IsOtherText(absl::string_view bytes);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_FORMAT_H_
