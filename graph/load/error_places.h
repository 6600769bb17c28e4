#ifndef SLUICE_GRAPH_LOAD_ERROR_PLACES_H_
#define SLUICE_GRAPH_LOAD_ERROR_PLACES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace sluice {

// Where the parts of a graph stand in the file that it was found in. A value type.
struct FilePlaces {
  int64_t base_offset = 0;  // Where the GraphDef begins; -1 when its bytes do not stand in the file (text).
  // Of a text: line and column, from 1, of each node, in order.
  std::vector<std::pair<int32_t, int32_t>> nodes;
};

// `status`, found in the graph, with the places of all its errors said in terms of the file: byte ranges counted from
// its start or dropped where the bytes do not stand in it, lines and columns for nodes of a text.
absl::Status PlaceInFile(const absl::Status& status, const FilePlaces& places);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_ERROR_PLACES_H_
