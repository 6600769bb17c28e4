#ifndef SLUICE_GRAPH_SHAPES_INFERENCE_H_
#define SLUICE_GRAPH_SHAPES_INFERENCE_H_

// Infers shapes before a run.
//
// Note [Certain problems]
// TensorFlow's session infers no shapes when a graph is loaded: a contradiction is reported when the node runs, and
// never if it does not run (it is not fetched, its branch is not taken, its inputs are fed). So that we accept
// everything that TensorFlow runs, shape functions return errors only for inputs that the kernel refuses too, if
// possible with its code, and problems are reported beside the shapes, not instead of them. A problem is `certain` if
// the node is not after a Switch, is not in a function's body, and depends on no shape that a run may change
// (variables, queues, lists). Even then it matters only to runs that need the node and do not feed its ancestors: infer
// over the pruned graph, with the feeds, before refusing.
//
// Note [Shapes in loops]
// A loop's Merge starts with the shape that enters. After each round over the graph it is joined with the shape of the
// next iteration: dimensions that differ become unknown. A Merge that still changes after kPatience rounds becomes
// wholly unknown; after twice as many rounds all Merges do; so the number of rounds has a bound and the work is linear.
// Problems are those of the last round, whose shapes hold in every iteration.

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
  // Fed outputs, with the known part of the fed shape, which replaces the shape of their node.
  std::vector<std::pair<Output, PartialShape>> fed;
  // Bodies of called functions; null: nothing is known of what calls return, `_output_shapes` hints apart.
  FunctionBodies* bodies = nullptr;
  // Whether attr `_output_shapes` supplies shapes that cannot be inferred. It is a hint: shapes derived from it are
  // marked as assumed, and a wrong one is not an error.
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
