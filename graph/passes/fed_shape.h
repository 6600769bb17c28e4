#ifndef SLUICE_GRAPH_PASSES_FED_SHAPE_H_
#define SLUICE_GRAPH_PASSES_FED_SHAPE_H_

#include "absl/status/status.h"
#include "graph/ir/graph.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace sluice {

// The shape that a value fed into `output` must match: that of a Placeholder, PlaceholderV2 or PlaceholderWithDefault;
// unknown for all others, and for a scalar Placeholder of a graph produced before version 24, which may mean anything.
PartialShape FedShape(const Graph& graph, const Output& output);

// Whether a value of `dtype` and `shape` may be fed into `output`: kFeedType, kFeedShape naming the node.
absl::Status CheckFedValue(const Graph& graph, const Output& output, DType dtype, const Shape& shape);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_FED_SHAPE_H_
