#ifndef SLUICE_GRAPH_SHAPES_SHAPE_INFERENCE_H_
#define SLUICE_GRAPH_SHAPES_SHAPE_INFERENCE_H_

// The machinery behind InferShapes. Only inference.cc and calls.cc include this.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graph/shapes/added_shape_functions.h"
#include "graph/shapes/inference.h"
#include "graph/shapes/inference_context.h"
#include "graph/shapes/shape_functions.h"
#include "graph/shapes/value_functions.h"

namespace sluice {

// All that is known of one tensor, to hand it into and out of a function.
struct TensorFacts {
  PartialShape shape;
  std::optional<ShapeValue> value;
  std::optional<std::vector<PartialShape>> handle;
};

// How much of the bodies has been walked in one InferShapes, all depths together. A body called from many places is
// walked a few times with different arguments, then its results count as unknown: the work stays linear.
struct CallBudget {
  static constexpr int kMaxDepth = 16;
  static constexpr int kMaxWalks = 16;
  absl::flat_hash_map<const Graph*, int> walks;
  int depth = 0;
};

// One inference over one graph. Not thread-safe.
class ShapeInference {
 public:
  ShapeInference(const Graph& graph, const InferenceOptions& options, CallBudget& budget);

  // `args` are what `_Arg` nodes give, by their index.
  absl::StatusOr<ShapeMap> Run(absl::Span<const TensorFacts> args);

 private:
  // Rounds before a Merge that still changes is given up. See Note [Shapes in loops].
  static constexpr int kPatience = 3;

  // What is looked up once per op.
  struct OpFunctions {
    ShapeFunction shapes = nullptr;  // Null: none.
    ValueFunction values = nullptr;  // Null: none.
    // Of a host or a plug-in; null: none. Never beside `shapes`.
    std::shared_ptr<const AddedShapeFunction> added;
  };
  const OpFunctions& FunctionsOf(NodeId id);

  // Fails only where it is to stop.
  absl::Status Round(absl::Span<const NodeId> order, absl::Span<const TensorFacts> args);
  void Infer(NodeId id, absl::Span<const TensorFacts> args);
  // Shapes by a function, a call, or hints.
  absl::Status InferOp(InferenceContext& c, const OpFunctions& functions, absl::Span<const TensorFacts> args);
  void InferMerge(InferenceContext& c);
  // Whether all loops give back what entered; widens those that do not.
  bool LoopsAreStable(int round);
  void UseHints(InferenceContext& c);
  // Hands on what the sources of a node's inputs are marked with.
  void InheritMarks(NodeId id);
  void ApplyFeeds(NodeId id);

  const Graph& graph_;
  const InferenceOptions& options_;
  CallBudget& budget_;
  ShapeMap map_;
  absl::flat_hash_map<const OpSchema*, OpFunctions> functions_;
  absl::flat_hash_map<Output, PartialShape> fed_;
  std::vector<bool> fed_nodes_;  // By node id: whether fed_ holds an output of it.
  std::vector<NodeId> loop_merges_;
  absl::flat_hash_map<NodeId, PartialShape> merge_shapes_;  // What loop Merges are taken for; absent: what enters.
  absl::flat_hash_set<NodeId> changing_handles_;            // Loop Merges that do not keep what a handle refers to.
};

// Shapes of a node that calls functions, from their bodies or from its attr output_shapes. False when it is no call,
// or nothing can be said.
bool InferCall(InferenceContext& c, const InferenceOptions& options, CallBudget& budget);

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_SHAPE_INFERENCE_H_
