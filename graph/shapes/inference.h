#ifndef SLUICE_GRAPH_SHAPES_INFERENCE_H_
#define SLUICE_GRAPH_SHAPES_INFERENCE_H_

// What is known of shapes before a run.
//
// Note [Certain problems]
// TensorFlow's session infers no shapes when a graph is loaded: a contradiction shows when the node runs, and never
// where it does not run (nobody fetches it, its branch is not taken, what feeds it is fed). So that we refuse nothing
// that TensorFlow runs, shape functions return errors only for what the kernel refuses too, as far as possible with
// its code, and problems are reported beside the shapes, never instead of them. A problem is `certain` when the node
// does not stand behind a Switch, in a function's body, or on a shape that a run may change (variables, queues, lists);
// even then it matters only to runs that need the node and do not feed what leads to it: infer over the pruned graph,
// with the feeds, before refusing.
//
// Note [Shapes in loops]
// A loop's Merge starts with the shape that enters. After each round over the graph it is joined with what comes back:
// dimensions that differ become unknown. Merges that still change after kPatience rounds become unknown as a whole,
// after twice as many all of them do; so the number of rounds has a bound and the work is linear. Problems are those of
// the last round, whose shapes hold in every iteration.

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"
#include "graph/shapes/function_bodies.h"
#include "graph/shapes/shape_map.h"

namespace sluice {

class StopPoll;

struct InferenceOptions {
  // Outputs whose value comes from outside, with what is known of it. Their nodes' own shapes do not count.
  std::vector<std::pair<Output, PartialShape>> fed;
  // Bodies of called functions; null: nothing is known of what calls return, `_output_shapes` hints apart.
  FunctionBodies* bodies = nullptr;
  // Attr `_output_shapes` says what the inference does not know. A hint: what rests on it is assumed, and a wrong one
  // is no error.
  bool use_hints = true;
  // Polled for every node, those of bodies included; may be null.
  StopPoll* stop = nullptr;
};

// Infers all shapes of `graph`. Fails only where the graph has no order (kCycle), and with the status of options.stop;
// contradictions are in ShapeMap::problems(). Linear in the graph; not recursive in the data but for calls, up to a
// fixed depth.
absl::StatusOr<ShapeMap> InferShapes(const Graph& graph, const InferenceOptions& options = {});

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_INFERENCE_H_
