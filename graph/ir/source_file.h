#ifndef SLUICE_GRAPH_IR_SOURCE_FILE_H_
#define SLUICE_GRAPH_IR_SOURCE_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

// From byte `byte` of a graph on, up to the next mark, the bytes came from this place of a text. Lines and columns
// count from 1; line 0 marks bytes that came from no place in particular.
struct LineMark {
  uint32_t byte = 0;
  int32_t line = 0;
  int32_t column = 0;
};

// The file that a graph was read from: it knows where in the file the bytes of a node stand.
// Immutable, shared by a graph, its copies and its functions. Borrows the bytes of the graph.
struct SourceFile {
  static constexpr int64_t kNotInFile = -1;

  std::string name;             // For messages; may be empty.
  absl::string_view graph_def;  // The binary GraphDef.
  int64_t offset = 0;           // Where it begins in the file; kNotInFile when it was made from a text or joined.
  std::vector<LineMark> lines;  // Of a text: ascending, 12 bytes for each node of the graph and of its functions.

  // Whether `bytes` are of this file. False for none.
  bool Holds(absl::string_view bytes) const;

  // `status` with the place of the node at `node_index` (-1: of a function body) whose NodeDef is `bytes`: byte range
  // in the file, or line and column of a text. Adds nothing about bytes that are not of this file.
  absl::Status Locate(const absl::Status& status, int64_t node_index, absl::string_view bytes) const;

  // `status`, all errors of it, with places counted from the start of graph_def (or of the file, when it stands in it)
  // turned into places in the file: lines and columns for a text, none where the bytes are not in the file.
  absl::Status InFile(const absl::Status& status) const;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_SOURCE_FILE_H_
