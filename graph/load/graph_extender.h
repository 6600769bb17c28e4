#ifndef SLUICE_GRAPH_LOAD_GRAPH_EXTENDER_H_
#define SLUICE_GRAPH_LOAD_GRAPH_EXTENDER_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "graph/base/limits.h"
#include "graph/ir/graph.h"
#include "graph/ir/import.h"

namespace sluice {

// Adds nodes and functions to one graph any number of times; each addition costs only its own size. Small additions are
// copied into growing blocks of memory, so that a graph added node by node refers to a few sources instead of one per
// addition. Not thread-safe.
class GraphExtender {
 public:
  // Adds what `added` holds, a GraphDef whose nodes may use those of `graph`: see ImportOptions::extends. A name that
  // is taken is kNodeDuplicate, another function of a known name kFunctionDuplicate; the same function again is fine.
  // Like TensorFlow's, it accepts parts that are wrong only for steps that run them: Note [What TensorFlow imports]. On
  // error `graph` is as before.
  absl::Status Extend(Graph& graph, GraphSource added, const LoadLimits& limits);

 private:
  // `added` in memory that the graph can keep: its owner's, where it is a large part of what there is, or a piece.
  GraphSource Keep(GraphSource added);

  std::shared_ptr<char[]> piece_;
  size_t piece_bytes_ = 0;
  size_t used_ = 0;   // Of the piece.
  size_t total_ = 0;  // Bytes of all additions.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_GRAPH_EXTENDER_H_
