#ifndef SLUICE_GRAPH_LOAD_MODEL_BYTES_H_
#define SLUICE_GRAPH_LOAD_MODEL_BYTES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/limits.h"
#include "graph/ir/source_file.h"
#include "graph/load/format.h"
#include "graph/load/meta_graph.h"

namespace sluice {

// The binary GraphDef inside a model's bytes, with what stands around it.
struct ModelBytes {
  absl::string_view graph_def;
  std::shared_ptr<const void> owner;  // Of graph_def; null: the caller's bytes.
  int64_t offset = 0;                 // Where graph_def begins in the file; SourceFile::kNotInFile for a text.
  std::vector<LineMark> lines;        // Of a text: where its nodes stand.
  MetaGraphInfo meta;
  EncodedObjectGraph objects;
  std::vector<std::vector<std::string>> tag_sets;  // Of all graphs of a SavedModel.
};

// Finds the graph in `bytes` of `format`; text is turned into binary first. `tags` select among the graphs of a
// SavedModel (see LoadOptions). Errors: kFileText, kFileWire, kFileTruncated, kSavedModelTags.
absl::StatusOr<ModelBytes> FindGraphDef(absl::string_view bytes, std::shared_ptr<const void> owner, GraphFormat format,
                                        const std::optional<std::vector<std::string>>& tags, const LoadLimits& limits);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_MODEL_BYTES_H_
