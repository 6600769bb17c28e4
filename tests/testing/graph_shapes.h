#ifndef SLUICE_TESTS_TESTING_GRAPH_SHAPES_H_
#define SLUICE_TESTS_TESTING_GRAPH_SHAPES_H_

// Graphs of one shape and any size, for measuring how work grows with size.

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/ir/graph.h"
#include "graph/passes/feed_fetch.h"
#include "graph/value/tensor.h"

namespace sluice {

// One graph, the signature to run and what to feed.
struct ShapedGraph {
  Graph graph{nullptr};
  FeedFetchSpec spec;
  std::vector<Tensor> feeds;      // As spec.feeds.
  std::vector<std::string> init;  // Targets to run once, before.
};

struct GraphShape {
  const char* name;
  // About `size` times a fixed part.
  ShapedGraph (*make)(int size);
  int num_devices = 1;  // Per unit of size where it is 0.
  // The serial driver refuses it: conditionals nested deeper than its guards, say.
  bool is_dataflow_only = false;
};

absl::Span<const GraphShape> AllGraphShapes();

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_GRAPH_SHAPES_H_
