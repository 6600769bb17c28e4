#ifndef SLUICE_GRAPH_SHAPES_SHAPE_INFERENCE_H_
#define SLUICE_GRAPH_SHAPES_SHAPE_INFERENCE_H_

// Implements InferShapes, and shapes that are updated as a graph changes (graph/edit/live_shapes.h).

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

// All known facts of one tensor, for passing arguments and results of functions.
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

// One inference over one graph: of the whole graph, and then, any number of times, of the nodes that have changed.
// After a call has thrown, it may only be destroyed. Borrows its arguments. Not thread-safe.
class ShapeInference {
 public:
  // Ids of sizes are counted from `first_dim_id` on.
  ShapeInference(const Graph& graph, const InferenceOptions& options, CallBudget& budget, int64_t first_dim_id = 0);

  // Infers all nodes. `args` are what `_Arg` nodes give, by their index. Fails if the graph has a cycle (kCycle), and
  // when it must stop.
  absl::Status Run(absl::Span<const TensorFacts> args);
  const ShapeMap& map() const { return map_; }
  ShapeMap TakeMap() { return std::move(map_); }

  // --- After changes of the graph ------------------------------------------------------------------------------------
  // Makes room for nodes that were added.
  void TakeInAdded();
  // Returns false if `id`, which is in the graph, has a different number of outputs than before: the inference must
  // then start over.
  bool HasRoomFor(NodeId id) const { return map_.HasRoomFor(graph_, id); }
  // Whether the node is a Merge that begins an iteration, whose output only rounds can determine.
  bool IsLoopMerge(NodeId id) const;
  // The loop Merges whose shapes are less precise than the value that enters the loop.
  std::vector<NodeId> WidenedMerges() const;
  // Infers one node, not such a Merge, whose inputs' facts, edges or attrs have changed. Returns whether its users have
  // to be inferred, too.
  bool InferAgain(NodeId id);
  // Infers `order`: nodes with all that use them, in an order in which what is used comes first, back edges of loops
  // apart. Loops in it begin anew. Fails only where it is to stop.
  absl::Status InferAgain(absl::Span<const NodeId> order);
  // Forgets the facts of a node that was removed.
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

  // Repeats rounds over `order` until its loops are stable. Fails only when it must stop.
  absl::Status Settle(absl::Span<const NodeId> order, absl::Span<const TensorFacts> args);
  // Resets a Merge to the shape that enters the loop.
  void StartLoopAnew(NodeId id);
  // The facts known of a node's outputs.
  std::vector<TensorFacts> FactsOf(NodeId id) const;
  void Infer(NodeId id, absl::Span<const TensorFacts> args);
  // Shapes by a function, a call, or hints.
  absl::Status InferOp(InferenceContext& c, const OpFunctions& functions, absl::Span<const TensorFacts> args);
  void InferMerge(InferenceContext& c);
  // Whether the shapes of all loops are stable; widens those that are not.
  bool LoopsAreStable(absl::Span<const NodeId> loop_merges, int* round);
  // Gives the unknown sizes of a node's outputs ids, and removes those of sizes that are no longer unknown. See Note
  // [Ids of sizes].
  void SetIds(NodeId id);
  void UseHints(InferenceContext& c);
  // Copies the marks of the nodes that a node reads to it.
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
