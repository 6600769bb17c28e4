#ifndef SLUICE_GRAPH_SHAPES_SHAPE_INFERENCE_H_
#define SLUICE_GRAPH_SHAPES_SHAPE_INFERENCE_H_

// The machinery of InferShapes, and of shapes that follow the changes of a graph (graph/edit/live_shapes.h).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "graph/shapes/added_shape_functions.h"
#include "graph/shapes/handle_data.h"
#include "graph/shapes/inference.h"
#include "graph/shapes/inference_context.h"
#include "graph/shapes/shape_functions.h"

namespace sluice {

// All that is known of one tensor, to hand it into and out of a function.
struct TensorFacts {
  PartialShape shape;
  std::optional<ShapeValue> value;
  std::optional<HandleData> handle;
};

// Whether both say the same, ids included.
bool AreIdentical(const TensorFacts& a, const TensorFacts& b);

// How much of the bodies has been walked in one InferShapes, all depths together. A body called from many places is
// walked a few times with different arguments, then its results count as unknown: the work stays linear.
struct CallBudget {
  static constexpr int kMaxDepth = 16;
  static constexpr int kMaxWalks = 16;
  HashMap<const Graph*, int> walks;
  int depth = 0;
};

// One inference over one graph: of all of it once, or of all of it and then, again and again, of what has changed.
// After a call that threw it is good for nothing but to be destroyed. Borrows what it is given. Not thread-safe.
class ShapeInference {
 public:
  // Ids of sizes are counted from `first_dim_id` on.
  ShapeInference(const Graph& graph, const InferenceOptions& options, CallBudget& budget, int64_t first_dim_id = 0);

  // Infers all nodes. `args` are what `_Arg` nodes give, by their index. Fails (kCycle) where the graph has no order,
  // and where it is to stop.
  absl::Status Run(absl::Span<const TensorFacts> args);
  const ShapeMap& map() const { return map_; }
  ShapeMap TakeMap() { return std::move(map_); }

  // --- After changes of the graph ------------------------------------------------------------------------------------
  // Makes room for nodes that were added.
  void TakeInAdded();
  // False when `id`, which is in the graph, has another number of outputs than before: then all has to begin anew.
  bool HasRoomFor(NodeId id) const { return map_.HasRoomFor(graph_, id); }
  // Whether the node is a Merge that begins an iteration: what it gives is found in rounds only.
  bool IsLoopMerge(NodeId id) const;
  // Those of them that are known less precisely than the value that enters the loop.
  std::vector<NodeId> WidenedMerges() const;
  // Infers one node, not such a Merge, whose inputs' facts, edges or attrs have changed. Returns whether its users have
  // to be inferred, too.
  bool InferAgain(NodeId id);
  // Infers `order`: nodes with all that use them, in an order in which what is used comes first, back edges of loops
  // apart. Loops in it begin anew. Fails only where it is to stop.
  absl::Status InferAgain(absl::Span<const NodeId> order);
  // Takes back what is known of a node that was removed.
  void Forget(NodeId id);

 private:
  // Rounds before a Merge that still changes is given up. See Note [Shapes in loops].
  static constexpr int kPatience = 3;
  // Rounds in which only ids change that are not counted, before no loop keeps any.
  static constexpr int kPatienceWithIds = 1;

  // The functions for one op, looked up once per op.
  struct OpFunctions {
    ShapeFunction shapes = nullptr;  // Null: none.
    ValueFunction values = nullptr;  // Null: none.
    // Of a host or a plug-in; null: none. Never beside `shapes`.
    std::shared_ptr<const AddedShapeFunction> added;
  };
  const OpFunctions& FunctionsOf(NodeId id);

  // Rounds over `order` until its loops give what they take. Fails only where it is to stop.
  absl::Status Settle(absl::Span<const NodeId> order, absl::Span<const TensorFacts> args);
  // Takes a Merge again for what enters the loop.
  void StartLoopAnew(NodeId id);
  // The facts known of a node's outputs.
  std::vector<TensorFacts> FactsOf(NodeId id) const;
  void Infer(NodeId id, absl::Span<const TensorFacts> args);
  // Shapes by a function, a call, or hints.
  absl::Status InferOp(InferenceContext& c, const OpFunctions& functions, absl::Span<const TensorFacts> args);
  void InferMerge(InferenceContext& c);
  // Whether all loops give back what entered; widens those that do not.
  bool LoopsAreStable(absl::Span<const NodeId> loop_merges, int* round);
  // Gives the unknown sizes of a node's outputs ids, and removes those of sizes that are no longer unknown. See Note
  // [Ids of sizes].
  void SetIds(NodeId id);
  void UseHints(InferenceContext& c);
  // Hands on what the sources of a node's inputs are marked with.
  void InheritMarks(NodeId id);
  void ApplyFeeds(NodeId id);

  const Graph& graph_;
  const InferenceOptions& options_;
  CallBudget& budget_;
  ShapeMap map_;
  HashMap<const OpSchema*, OpFunctions> functions_;
  HashMap<Output, PartialShape> fed_;
  std::vector<bool> fed_nodes_;  // By node id: whether fed_ holds an output of it.
  const int64_t first_dim_id_;
  // The assumed shapes of loop Merges; absent means the shape that enters.
  HashMap<NodeId, PartialShape> merge_shapes_;
  HashSet<NodeId> changing_handles_;  // Loop Merges that do not keep what a handle refers to.
  HashSet<NodeId> changing_ids_;      // Loop Merges that do not keep ids of sizes.
  int id_rounds_ = 0;                 // In which only ids changed.
};

// Shapes of a node that calls functions, from their bodies or from its attr output_shapes. Returns false if it is not a
// call, or if nothing is known. Sizes inside of bodies have ids from `inner_dim_id` on, and those of results that do
// not come from the arguments have ids by where they stand among the results: `dim_id` gives them.
struct CallIds {
  int64_t inner_dim_id = 0;
  std::function<int64_t(int output, int axis)> dim_id;
};
bool InferCall(InferenceContext& c, const InferenceOptions& options, CallBudget& budget, const CallIds& ids);

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_SHAPE_INFERENCE_H_
